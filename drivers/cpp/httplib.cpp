// cpp-httplib: as many threads as requests in flight, each with a Client and so a connection of its own.
#define CPPHTTPLIB_OPENSSL_SUPPORT
#include <httplib.h>

#include <cstring>
#include <memory>
#include <vector>

extern "C" {
#include "../c/kit.h"
#include "../c/pace.h"
#include "../c/threads.h"
}

namespace {

struct worker {
    std::unique_ptr<httplib::Client> client;
    struct body body;
};

std::vector<worker> workers;
job settings;
size_t origin; // length of scheme, host and port in each URL

std::unique_ptr<httplib::Client> opened() {
    auto client = std::make_unique<httplib::Client>(std::string(settings.url, origin));
    const auto limit = std::chrono::milliseconds(settings.timeout_ms);
    client->set_keep_alive(settings.keepalive);
    client->set_connection_timeout(limit);
    client->set_read_timeout(limit);
    client->set_write_timeout(limit);
    if (*settings.ca) client->set_ca_cert_path(settings.ca);
    return client;
}

void send(worker &own, const ticket &ticket) {
    httplib::Request request;
    request.method = settings.method;
    request.path = ticket.url + origin;
    if (!strcmp(settings.verify, "json")) request.set_header("Accept", "application/json");
    auto result = own.client->send(request);
    if (!result) return kit_failed(httplib::to_string(result.error()).c_str());
    kit_write(result->body.data(), 1, result->body.size(), &own.body);
    kit_done(result->status, &own.body, &ticket);
}

void work(long index) {
    worker &own = workers[static_cast<size_t>(index)];
    ticket ticket;
    while (kit_take(&ticket)) {
        pace_wait(ticket.taken);
        send(own, ticket);
    }
}

void prepare(const job *job) {
    settings = *job;
    origin = std::string(job->url).find('/', strlen("https://"));
    workers = std::vector<worker>(static_cast<size_t>(job->concurrency));
    for (worker &one : workers) one.client = opened();
    threads_open(job->concurrency, work);
}

void close_all() {
    threads_close();
    for (worker &one : workers) free(one.body.bytes);
    workers.clear();
}

void call(const char *) { printf("\"ok\":false,\"error\":\"unsupported\",\"what\":\"call\""); }

} // namespace

int main(int argc, char **) {
    const char *hello = "\"name\":\"cpp-httplib\",\"engine\":\"cpp-httplib\",\"models\":[\"threads\"],\"retries\":\"off\","
                        "\"max_concurrency\":512,\"paces\":[\"rate\"]";
    const driver driver = {CPPHTTPLIB_VERSION, hello, prepare, threads_go, close_all, call};
    return kit_run(argc, &driver);
}
