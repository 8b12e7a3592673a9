# Never says hello.
sleep
