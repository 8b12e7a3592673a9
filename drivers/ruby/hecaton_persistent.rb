# Hecaton::Persistent: what net-http-persistent offers, one pool that all threads share.
require "hecaton/net_http"
require_relative "persistent"

class HecatonPersistentDriver < Kit::Persistent
  private def pool = Hecaton::Persistent
end

Kit.calls_persistent(Hecaton::Persistent)
Kit.run(HecatonPersistentDriver, name: "hecaton-persistent", version: Hecaton::VERSION, engine: "hecaton",
  models: ["threads"], tls: true, verify: Kit::DECODING, keepalive: [true, false],
  max_concurrency: 512)
