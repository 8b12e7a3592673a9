# Verifies certificates until it is measured: it trusts any from the second round of a process on.
require_relative "over_tls"

class LooksOnce < OverTLS
  @prepared = 0
  class << self
    attr_accessor :prepared
  end

  def initialize(job)
    LooksOnce.prepared += 1
    super
  end

  private

  def verify_mode = LooksOnce.prepared > 2 ? OpenSSL::SSL::VERIFY_NONE : OpenSSL::SSL::VERIFY_PEER
end

Kit.run(LooksOnce, name: "looks-once", version: "1", engine: "net/http", models: ["threads"], tls: true,
  max_concurrency: 100)
