// The command `call`: makes one call for an audit, with libcurl's own defaults, and reports its outcome.
#pragma once

// The words of `needs` that libcurl knows, as items of a list in JSON. An easy handle makes one call at a time.
#define CALLS "\"method\",\"body\",\"fields\",\"timeout\",\"redirects\",\"cookies\",\"gzip\",\"userinfo\",\"raw-url\",\"raw-method\",\"tls\"," \
              "\"no-verify\",\"h2\",\"proxy\",\"proxy-environment\",\"hosts\",\"idle-timeout\",\"fork\",\"close\",\"expect\""
#define CALLS_OF_MULTI CALLS ",\"parallel\",\"pool-size\""

// Print the members of the reply. The call is made by libcurl's easy or by its multi interface.
void call_easy(const char *line);
void call_multi(const char *line);
