# Persistent connections for programs of net-http-persistent: Hecaton::Persistent instead of Net::HTTP::Persistent.
%w[settings proxy requests replace].each { |name| require_relative "persistent/#{name}" }

# One pool for all threads that share the object:
#
#   http = Hecaton::Persistent.new(name: "my_app")
#   http.request(URI("http://127.0.0.1:8080/users"))                     # a Net::HTTPResponse
#   http.request(uri, Net::HTTP::Post.new(uri.request_uri).tap { |post| post.body = "…" })
#   http.shutdown
#
# Methods, defaults and errors are those of net-http-persistent 4 (docs/from-net-http.md has the table). Unless
# max_retries was set, or retry_change_requests as in its version 3, a request is sent again only if its connection
# ended before a byte of the response. A setting that cannot be honoured raises Hecaton::NetHTTP::Refused at the next
# request. Each request ends within total_timeout.
class Hecaton::Persistent
  # The limit of connections, idle ones included: a quarter of the process's limit of descriptors.
  DEFAULT_POOL_SIZE = Process.getrlimit(Process::RLIMIT_NOFILE).first / 4
  # String: the version of net-http-persistent whose interface this is.
  VERSION = "4.0.8"

  # One client for http and one for https, each with a proxy and without.
  MOST_CLIENTS = 4
  private_constant :MOST_CLIENTS

  # A connection that was refused, or a host that is down. Other errors are those of Net::HTTP.
  class Error < StandardError; end

  # The object that connection_for yields. http is a started Hecaton::NetHTTP, whose connections are the pool's.
  Connection = Struct.new(:http)

  include Settings
  include Proxy
  include Requests

  # name:: stored and shown. Each object has a pool of its own, with a name or without.
  # proxy:: a URI::HTTP, :ENV for the environment's http_proxy and no_proxy, or nil (the default) for none.
  # pool_size:: the limit of connections over http to all servers together. Connections over https have a limit of the
  #   same size. Hosts that no_proxy exempts from the proxy have two such limits of their own. A request
  #   beyond that waits its turn, within its total_timeout.
  def initialize(name: nil, proxy: nil, pool_size: DEFAULT_POOL_SIZE)
    Hecaton::NetHTTP::Settings.check_count(:pool_size, pool_size)
    @name = name
    @pool = Hecaton::NetHTTP::Clients.new(MOST_CLIENTS) { pool_size }
    @sessions = {}.freeze
    @http_versions = {}
    defaults
    self.proxy = proxy if proxy
  end

  # Its class and its name.
  def inspect = "#<#{self.class} #{@name.inspect}>"
end
