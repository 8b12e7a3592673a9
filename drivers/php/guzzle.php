<?php
// Guzzle: a Pool that keeps as many requests in flight as requested, as its documentation shows for many requests.
require __DIR__ . '/kit.php';
require '/usr/share/php/GuzzleHttp/autoload.php';

use GuzzleHttp\{Client, ClientInterface, Pool};
use GuzzleHttp\Exception\TransferException;
use Psr\Http\Message\ResponseInterface;

final class GuzzlePool
{
    private Client $client;
    private array $taken = [];

    public function __construct(private object $job)
    {
        $this->client = new Client([
            'http_errors' => false,
            'allow_redirects' => false,
            'proxy' => '',
            'timeout' => $job->timeout_ms / 1000,
            'verify' => $job->ca ?? true,
            'headers' => $job->verify === 'json' ? ['Accept' => 'application/json'] : [],
            'decode_content' => $job->verify === 'gzip' ? 'gzip' : true,
            'curl' => [CURLOPT_FORBID_REUSE => !$job->keepalive],
        ]);
    }

    public function __invoke(Round $round): void
    {
        $pool = new Pool($this->client, $this->requests($round), [
            'concurrency' => $this->job->concurrency,
            'fulfilled' => fn (ResponseInterface $response, int $index) =>
                $round->done($response->getStatusCode(), (string) $response->getBody(), $this->takenOf($index)),
            'rejected' => fn (TransferException $why) => $round->failed(self::kind($why)),
        ]);
        $pool->promise()->wait();
    }

    private function requests(Round $round): Generator
    {
        for ($index = 0; ($taken = $round->take()) !== null; $index++) {
            [$url, $this->taken[$index]] = $taken;
            yield fn () => $this->client->requestAsync($this->job->method, $url);
        }
    }

    private function takenOf(int $index): ?int
    {
        $taken = $this->taken[$index];
        unset($this->taken[$index]);
        return $taken;
    }

    private static function kind(TransferException $why): string
    {
        $context = method_exists($why, 'getHandlerContext') ? $why->getHandlerContext() : [];
        return isset($context['errno']) ? curl_strerror($context['errno']) : $why::class;
    }
}

// libcurl re-sends what a reused connection lost without a response.
run(fn (object $job) => new GuzzlePool($job), ['name' => 'guzzle',
    'version' => ClientInterface::MAJOR_VERSION . ' on libcurl ' . curl_version()['version'], 'engine' => 'libcurl', 'models' => ['events'],
    'retries' => 'fixed:5', 'verify' => ['tail', 'json', 'gzip', 'none'], 'max_concurrency' => 1000]);
