// The command `ask`: makes one call for an audit, with libcurl's own defaults, and reports its outcome.
#pragma once

// Print the members of the reply. The call is made by libcurl's easy or by its multi interface.
void asks_easy(const char *line);
void asks_multi(const char *line);
