// As many threads as requests in flight, for clients that wait for each response.
#pragma once

// Starts them; each waits until `threads_go` lets it call `work` with its index.
void threads_open(long count, void (*work)(long index));
// Lets all of them work once, and returns when the last has ended.
void threads_go(void);
void threads_close(void);
