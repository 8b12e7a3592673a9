# Proxies: tunnels, right and wrong credentials, and a proxy that delays, cuts and resets on purpose.
module Servers
  check "tunnel", "30 GETs and a POST of 300 kB to an https origin through one tunnel", needs: :tunnel,
    like_curl: ->(server) { server.endpoint(:tunnel).curl("/echo?id=1").ok? } do |server|
    endpoint = server.endpoint(:tunnel)
    client = endpoint.client(http: "1.1")
    30.times { |id| verify_id(client.get(endpoint.url("/echo?id=#{id}")), id) }
    arrived(client.post(endpoint.url("/upload"), body: BODY), BODY, "POST")
    same(1, client.stats[:opened], "connections")
    nil
  end

  check "tunnel/2", "500 GETs at 50 by HTTP/2 through a tunnel", needs: :tunnel do |server|
    opened, resends = batch(server.endpoint(:tunnel), 500, 50)
    must(opened <= 3 + resends, "#{opened} connections")
    note(resends, "#{opened} connections")
  end

  check "proxy auth", "the proxy's credentials: right ones are enough, " \
    "wrong ones are a 407 and in a tunnel an error that says so, without them", needs: :auth,
    like_curl: ->(server) { server.endpoint(:auth).curl("/echo?id=1").ok? } do |server|
    endpoint = server.endpoint(:auth)
    verify_id(endpoint.client.get(endpoint.url("/echo?id=1")), 1)
    wrong = endpoint.options[:proxy].sub("secret", "wr0ng")
    refused = begin
      endpoint.client(proxy: wrong).get(endpoint.url("/echo")).status
    rescue Hecaton::ConnectError => error # SOCKS has no statuses
      error
    end
    # Some proxies send 401 instead of 407.
    must([401, 407].include?(refused) || refused.is_a?(Hecaton::ConnectError), "wrong credentials: #{refused}")
    messages = [refused, refused_tunnel(wrong)].grep(Hecaton::Error).map(&:message)
    messages.each { |message| must(!message.include?("wr0ng"), "the error shows the password") }
    refused.is_a?(Integer) ? refused.to_s : refused.class.name.delete_prefix("Hecaton::")
  end

  check "proxy tls", "TLS to the proxy itself (https://): forwarded requests, and a tunnel", needs: :tls_proxy,
    like_curl: ->(server) {
      server.endpoint(:tls_proxy).curl("/echo?id=1").ok? && server.endpoint(:tls_tunnel).curl("/echo?id=1").ok?
    } do |server|
    [server.endpoint(:tls_proxy), server.endpoint(:tls_tunnel)].each do |endpoint|
      client = endpoint.client
      20.times { |id| verify_id(client.get(endpoint.url("/echo?id=#{id}")), id) }
      same(1, client.stats[:opened], "connections")
    end
    nil
  end

  class Context
    def refused_tunnel(wrong)
      return unless server.supports?(:auth_tunnel)

      endpoint = server.endpoint(:auth_tunnel)
      verify_id(endpoint.client.get(endpoint.url("/echo?id=1")), 1)
      error = error_of(Hecaton::ConnectError) { endpoint.client(proxy: wrong).get(endpoint.url("/echo")) }
      must(error.message.match?(/407|proxy/i), "the error does not name the proxy: #{error.message}")
      error
    end

    # One GET on a new connection while the proxy applies this toxic to the response.
    def with_toxic(type, attributes, path, **options)
      server.toxic(type, attributes) do
        server.endpoint(:toxics).client(**options).get(server.endpoint(:toxics).url(path))
      end
    end
  end

  check "toxics", "latency, slices, a cut after 5 kB, a reset and silence on the way", needs: :toxics do
    slow = with_toxic("latency", { latency: 200 }, "/echo?id=1")
    verify_id(slow, 1)
    must(slow.timings.first_byte_time >= 0.19,
      "first byte after #{slow.timings.first_byte_time} s where the proxy waits 0.2")
    sliced = with_toxic("slicer", { average_size: 64, size_variation: 32, delay: 10 }, "/bytes/50000")
    same(50_000, sliced.body.bytesize, "bytes in slices")
    error_of(Hecaton::BodyError) { with_toxic("limit_data", { bytes: 5000 }, "/bytes/50000") }
    error_of(Hecaton::ProtocolError) { with_toxic("reset_peer", { timeout: 0 }, "/bytes/50000") }
    silent = error_of(Hecaton::TimeoutError) { with_toxic("timeout", { timeout: 0 }, "/echo", timeout: 1) }
    must(silent.elapsed.between?(0.9, 5), "the deadline of 1 s took #{silent.elapsed} s")
    nil
  end

  check "toxic reuse", "keep-alive connections that the proxy resets meanwhile: 20 GETs, none is lost",
    needs: :toxics do |server|
    client = server.endpoint(:toxics).client
    responses = Array.new(20) do |id|
      client.get(server.endpoint(:toxics).url("/echo?id=#{id}")).tap do |response|
        verify_id(response, id)
        server.cut_all if id.odd?
      end
    end
    must(client.stats[:opened] >= 10, "the proxy cut nothing (#{client.stats[:opened]} connections)")
    note(resent(responses))
  end
end
