# Net::HTTP on Hecaton: Hecaton::NetHTTP, and Hecaton::Persistent for programs of net-http-persistent.
require "hecaton"
require "net/http"
require "openssl"

module Hecaton
  # The original class, even where WebMock has replaced it with one of its own.
  webmock = defined?(WebMock::HttpLibAdapters::NetHttpAdapter::OriginalNetHTTP)
  original = webmock ? WebMock::HttpLibAdapters::NetHttpAdapter::OriginalNetHTTP : Net::HTTP

  # A Net::HTTP whose requests go through Hecaton. It is a subclass with all of Net::HTTP's methods: it takes
  # Net::HTTP::Get and the other request classes, and returns Net::HTTPResponse objects.
  #
  #   Hecaton::NetHTTP.start("api.example", 443, use_ssl: true) { |http| http.request(Net::HTTP::Get.new("/users")) }
  #
  # The differences, and the settings that are refused, are in docs/from-net-http.md. In short: `start` opens no
  # connection, the first request does. All threads and all objects of the same settings share a pool of connections,
  # which stay open for keep_alive_timeout (2 s by default). Nothing is sent again unless max_retries was set. Each
  # request ends within total_timeout. A body that is cut short is an EOFError.
  #
  # Errors are those of Net::HTTP (Net::OpenTimeout, Net::ReadTimeout, Net::WriteTimeout, Errno::ECONNREFUSED and the
  # like, SocketError, OpenSSL::SSL::SSLError, EOFError, Net::HTTPBadResponse), and their cause is the Hecaton::Error.
  # A setting that cannot be honoured is a Refused, raised by `start` or by the request.
  class NetHTTP < original
  end
end

# In this order, because some need others while they are loaded.
%w[
  trust tls settings clients defaults failures upload written outgoing decoding body_socket incoming debug
  exchange transport persistent
].each { |name| require_relative "net_http/#{name}" }
