# net-http-persistent: one pool that all threads share, as its documentation shows.
require "net/http/persistent"
require_relative "persistent"

# The library sends failed idempotent requests again, and so does Net::HTTP underneath; neither has an option for it.
class Once < Net::HTTP::Persistent
  def can_retry?(_request) = false
  def start(http) = super(http.tap { |below| below.max_retries = 0 })
end

class NetHttpPersistentDriver < Kit::Persistent
  private def pool = Once
end

Kit.calls_persistent(Net::HTTP::Persistent)
Kit.run(NetHttpPersistentDriver, name: "net-http-persistent", version: Net::HTTP::Persistent::VERSION,
  engine: "net/http", models: ["threads"], tls: true, verify: Kit::DECODING, keepalive: [true, false],
  max_concurrency: 512)
