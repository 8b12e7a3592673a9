<?php
// The harness's side of every driver in PHP: replies to commands, hands out requests, verifies and counts responses.

// One `go`.
final class Round
{
    private int $next;
    private int $end;
    private int $untimed = 0;
    private int $done = 0;
    private int $bytes = 0;
    private int $sum = 0;
    private array $errors = [];
    private array $latencies = [];

    public function __construct(private object $job, private object $command)
    {
        $this->next = $command->first;
        $this->end = $command->first + $command->count;
    }

    // The next URL, and when it was taken if it is to be timed; null when all are taken.
    public function take(): ?array
    {
        if ($this->next === $this->end) {
            return null;
        }
        $url = $this->job->append_id ? $this->job->url . $this->next : $this->job->url;
        $this->next++;
        $timed = $this->untimed === 0;
        $this->untimed = $timed ? $this->command->lat_every - 1 : $this->untimed - 1;
        return [$url, $timed ? hrtime(true) : null];
    }

    // Counts a response whose body has been read.
    public function done(int $status, string $body, ?int $taken): void
    {
        if (intdiv($status, 100) !== 2) {
            $this->failed("status $status");
            return;
        }
        $value = $this->checkValue($body);
        if ($value === null) {
            $this->failed('check value');
            return;
        }
        $this->sum += $value;
        $this->bytes += strlen($body);
        $this->done++;
        if ($taken !== null) {
            $bucket = self::bucket(intdiv(hrtime(true) - $taken, 1000));
            $this->latencies[$bucket] = ($this->latencies[$bucket] ?? 0) + 1;
        }
    }

    public function failed(string $kind): void
    {
        $this->errors[$kind] = ($this->errors[$kind] ?? 0) + 1;
    }

    public function reply(): array
    {
        $latencies = [];
        foreach ($this->latencies as $micros => $count) {
            $latencies[] = [$micros, $count];
        }
        return ['ok' => true, 'done' => $this->done, 'errors' => array_sum($this->errors), 'errors_by' => (object) $this->errors,
            'bytes' => $this->bytes, 'sum' => $this->sum & 0xffffffff, 'lat_us' => $latencies];
    }

    // The check value at the end of a body. For a document, the numbers of all its records are added.
    private function checkValue(string $body): ?int
    {
        if ($this->job->verify === 'none') {
            return 0;
        }
        if ($this->job->verify !== 'json') {
            $text = substr($body, -8);
            return ctype_xdigit($text) ? hexdec($text) : null;
        }
        $page = json_decode($body, true);
        return isset($page['token'], $page['records'])
            ? hexdec($page['token']) + array_sum(array_column($page['records'], 'numbers'))
            : null;
    }

    // Microseconds to eight significant bits, rounded down.
    private static function bucket(int $micros): int
    {
        $shift = max(strlen(decbin($micros)) - 8, 0);
        return $micros >> $shift << $shift;
    }
}

// Replies to commands until `bye`. `$open($job)` returns a function that sends the requests of a round.
function run(callable $open, array $about): void
{
    $hello = ['ok' => true, 'proto' => 2, 'runtime' => 'php ' . PHP_VERSION, 'http' => ['1.1'], 'tls' => true, 'keepalive' => [true, false],
        'cores' => 1, 'verify' => ['tail', 'json', 'none'], 'methods' => ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']];
    while (($line = fgets(STDIN)) !== false) {
        $command = json_decode($line);
        switch ($command->cmd) {
            case 'hello':
                $reply = array_merge($hello, $about);
                break;
            case 'prepare':
                $go = null; // lets go of the connections
                $job = $command;
                $go = $open($job);
                $reply = ['ok' => true];
                break;
            case 'go':
                $round = new Round($job, $command);
                $go($round);
                $reply = $round->reply();
                break;
            case 'bye':
                $reply = ['ok' => true];
                break;
            default:
                $reply = ['ok' => false, 'error' => 'unsupported', 'what' => $command->cmd];
        }
        fwrite(STDOUT, json_encode(['id' => $command->id] + $reply) . "\n");
        if ($command->cmd === 'bye') {
            break;
        }
    }
}
