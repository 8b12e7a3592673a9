// Boost.Beast: as many coroutines as requests in flight on one thread, each with a connection of its own.
#include <utility> // Asio 1.74 needs it, and does not include it

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast.hpp>
#include <boost/beast/ssl.hpp>

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

extern "C" {
#include "../c/kit.h"
}

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using asio::use_awaitable;

job settings;
std::string host;
size_t origin; // length of scheme, host and port in each URL
asio::ip::tcp::resolver::results_type addresses;
asio::io_context loop;
std::optional<ssl::context> trusted;

// A connection without TLS, and one with it.
beast::tcp_stream opened(beast::tcp_stream *) { return beast::tcp_stream(loop); }
beast::ssl_stream<beast::tcp_stream> opened(beast::ssl_stream<beast::tcp_stream> *) { return {loop, *trusted}; }
asio::awaitable<void> secure(beast::tcp_stream &) { co_return; }
asio::awaitable<void> secure(beast::ssl_stream<beast::tcp_stream> &stream) {
    stream.set_verify_callback(ssl::host_name_verification(host));
    co_await stream.async_handshake(ssl::stream_base::client, use_awaitable);
}

struct worker {
    virtual ~worker() = default;
    virtual asio::awaitable<void> work() = 0;
};

template <class Stream> struct connected : worker {
    std::optional<Stream> stream;
    beast::flat_buffer buffer;
    body content{};

    ~connected() override { free(content.bytes); }

    asio::awaitable<void> open() {
        buffer.clear();
        stream.emplace(opened(static_cast<Stream *>(nullptr)));
        limit();
        co_await beast::get_lowest_layer(*stream).async_connect(addresses, use_awaitable);
        co_await secure(*stream);
    }

    void limit() { beast::get_lowest_layer(*stream).expires_after(std::chrono::milliseconds(settings.timeout_ms)); }

    asio::awaitable<void> send(const ticket &ticket) {
        if (!stream) co_await open();
        limit();
        http::request<http::empty_body> request(http::string_to_verb(settings.method), ticket.url + origin, 11);
        request.set(http::field::host, host);
        request.keep_alive(settings.keepalive);
        if (!strcmp(settings.verify, "json")) request.set(http::field::accept, "application/json");
        co_await http::async_write(*stream, request, use_awaitable);
        http::response<http::string_body> response;
        do { // an interim response may come first
            response = {};
            co_await http::async_read(*stream, buffer, response, use_awaitable);
        } while (response.result_int() < 200);
        if (!response.keep_alive() || !settings.keepalive) stream.reset();
        kit_write(response.body().data(), 1, response.body().size(), &content);
        kit_done(response.result_int(), &content, &ticket);
    }

    asio::awaitable<void> work() override {
        ticket ticket;
        while (kit_take(&ticket)) {
            try {
                co_await send(ticket);
            } catch (const boost::system::system_error &error) {
                stream.reset();
                kit_failed(error.code().message().c_str());
            }
        }
    }
};

std::vector<std::unique_ptr<worker>> workers;

void prepare(const job *job) {
    settings = *job;
    const std::string url(settings.url);
    const bool tls = url.starts_with("https");
    const size_t start = strlen(tls ? "https://" : "http://");
    origin = url.find('/', start);
    const size_t colon = url.find(':', start);
    host = url.substr(start, colon - start);
    addresses = asio::ip::tcp::resolver(loop).resolve(host, url.substr(colon + 1, origin - colon - 1));
    trusted.reset();
    if (tls) {
        trusted.emplace(ssl::context::tls_client);
        trusted->set_verify_mode(ssl::verify_peer);
        if (*settings.ca) trusted->load_verify_file(settings.ca);
        else trusted->set_default_verify_paths();
    }
    for (long index = 0; index < settings.concurrency; index++) {
        if (tls) workers.push_back(std::make_unique<connected<beast::ssl_stream<beast::tcp_stream>>>());
        else workers.push_back(std::make_unique<connected<beast::tcp_stream>>());
    }
}

void go() {
    for (auto &one : workers) asio::co_spawn(loop, one->work(), asio::detached);
    loop.restart();
    loop.run();
}

void close_all() { workers.clear(); }

void call(const char *) { printf("\"ok\":false,\"error\":\"unsupported\",\"what\":\"call\""); }

} // namespace

int main(int argc, char **) {
    const char *hello = "\"name\":\"beast\",\"engine\":\"boost.beast\",\"models\":[\"async\"],\"retries\":\"off\",\"max_concurrency\":1000";
    const driver driver = {BOOST_LIB_VERSION, hello, prepare, go, close_all, call};
    return kit_run(argc, &driver);
}
