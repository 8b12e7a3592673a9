# Decodes the part of a record that names the server of each attempt; layout in ext/hecaton/src/who_answered.rs.
module Hecaton
  # Reads the facts of one attempt after the other.
  class WhoAnswered # :nodoc: all
    # The record, and where the facts of its first attempt begin.
    def initialize(record, offset)
      @record = record
      @at = offset
      @index = -1
      @certificates = record.instance_variable_get(:@certificates) || []
    end

    # Hash: peer, local and tls of the next attempt.
    def next
      @index += 1
      { peer: endpoint, local: endpoint, tls: tls }
    end

    private

    def endpoint
      kind, length = @record.unpack("CS<", offset: @at)
      bytes = @record.byteslice(@at + 3, length)
      @at += 3 + length
      case kind
      when 1 then Endpoint.new(address: bytes.force_encoding(Encoding.find("filesystem")))
      when 4 then Endpoint.new(address: bytes.unpack("x2C4").join("."), port: bytes.unpack1("S<"))
      when 6 then Endpoint.new(address: ipv6(bytes), port: bytes.unpack1("S<"))
      end
    end

    # With the zone of an address that needs one, by its number.
    def ipv6(bytes)
      Library.load("ipaddr")
      scope = bytes.unpack1("L<", offset: 18)
      address = IPAddr.new_ntoh(bytes.byteslice(2, 16)).to_s
      scope.zero? ? address : "#{address}%#{scope}"
    end

    def tls
      texts = Array.new(byte) { text }
      return if texts.empty?

      version, cipher, alpn = texts
      cipher = nil if cipher.empty?
      TLS.new(version: version, cipher: cipher, alpn: (alpn unless alpn.empty?)).from(@certificates, @index)
    end

    def text
      length = byte
      @at += length
      @record.byteslice(@at - length, length).force_encoding(Encoding::UTF_8)
    end

    def byte
      @at += 1
      @record.getbyte(@at - 1)
    end
  end
end
