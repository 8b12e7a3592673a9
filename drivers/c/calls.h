// The command `call`: makes one call for an audit, with libcurl's own defaults, and reports its outcome.
#pragma once

// Print the members of the reply. The call is made by libcurl's easy or by its multi interface.
void call_easy(const char *line);
void call_multi(const char *line);
