<?php
// PHP's curl extension: one multi handle, and as many easy handles as requests in flight.
require __DIR__ . '/kit.php';

final class CurlMulti
{
    private CurlMultiHandle $multi;
    private array $handles = [];
    private array $taken = [];

    public function __construct(object $job)
    {
        $this->multi = curl_multi_init();
        for ($index = 0; $index < $job->concurrency; $index++) {
            $this->handles[] = self::handle($job, $index);
        }
    }

    public function __invoke(Round $round): void
    {
        $open = 0;
        foreach ($this->handles as $handle) {
            $open += $this->send($handle, $round);
        }
        while ($open > 0) {
            curl_multi_exec($this->multi, $running);
            while ($ended = curl_multi_info_read($this->multi)) {
                $this->count($ended, $round);
                $open += $this->send($ended['handle'], $round) - 1;
            }
            if ($open > 0) {
                curl_multi_exec($this->multi, $running); // what was added just now
                curl_multi_select($this->multi);
            }
        }
    }

    private static function handle(object $job, int $index): CurlHandle
    {
        $handle = curl_init();
        curl_setopt_array($handle, [
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_PRIVATE => (string) $index,
            CURLOPT_PROXY => '',
            CURLOPT_TIMEOUT_MS => $job->timeout_ms,
            CURLOPT_FORBID_REUSE => !$job->keepalive,
            CURLOPT_NOBODY => $job->method === 'HEAD',
            CURLOPT_CUSTOMREQUEST => $job->method,
            CURLOPT_HTTPHEADER => $job->verify === 'json' ? ['Accept: application/json'] : [],
        ]);
        if ($job->verify === 'gzip') {
            curl_setopt($handle, CURLOPT_ENCODING, 'gzip');
        }
        if (isset($job->ca)) {
            curl_setopt($handle, CURLOPT_CAINFO, $job->ca);
        }
        return $handle;
    }

    // Sends the next request, if there is one: how many it sent.
    private function send(CurlHandle $handle, Round $round): int
    {
        $taken = $round->take();
        if ($taken === null) {
            return 0;
        }
        [$url, $this->taken[curl_getinfo($handle, CURLINFO_PRIVATE)]] = $taken;
        curl_setopt($handle, CURLOPT_URL, $url);
        curl_multi_add_handle($this->multi, $handle);
        return 1;
    }

    private function count(array $ended, Round $round): void
    {
        $handle = $ended['handle'];
        $taken = $this->taken[curl_getinfo($handle, CURLINFO_PRIVATE)];
        if ($ended['result'] === CURLE_OK) {
            $round->done(curl_getinfo($handle, CURLINFO_RESPONSE_CODE), curl_multi_getcontent($handle), $taken);
        } else {
            $round->failed(curl_strerror($ended['result']));
        }
        curl_multi_remove_handle($this->multi, $handle);
    }
}

// libcurl re-sends what a reused connection lost without a response.
run(fn (object $job) => new CurlMulti($job), ['name' => 'php-curl', 'version' => PHP_VERSION . ' on libcurl ' . curl_version()['version'],
    'engine' => 'libcurl', 'models' => ['events'], 'retries' => 'fixed:5', 'verify' => ['tail', 'json', 'gzip', 'none'],
    'max_concurrency' => 1000]);
