# Methods, bodies in both directions, and `Expect: 100-continue`: what arrives is what was sent.
module Servers
  BODY = Random.new(8).bytes(300_000).freeze
  PIECES = Array.new(10) { |at| BODY[at * 30_000, 30_000] }.freeze

  class Context
    # Checks the server's report of a request with a body.
    def arrived(response, body, method)
      same(200, response.status, "#{method} status")
      report = JSON.parse(response.body)
      same([method, body.bytesize, Zlib.crc32(body)], report.values_at("method", "bytes", "crc32"),
        "what arrived of #{method}")
    end

    # Checks that the response belongs to this very request.
    def verify_id(response, id)
      same(200, response.status, "GET status")
      path = JSON.parse(response.body)["path"]
      must(path.end_with?("id=#{id}"), "requested id=#{id}, got the response to #{path}")
    end

    def verbs_of(endpoint)
      client = endpoint.client
      %w[GET DELETE OPTIONS].each do |method|
        response = by(client, method, endpoint.url("/echo?id=1"))
        same(200, response.status, "#{method} status")
        same(method, JSON.parse(response.body)["method"], "method")
      end
      head = by(client, "HEAD", endpoint.url("/echo?id=2"))
      same([200, ""], [head.status, head.body], "HEAD")
      %w[POST PUT PATCH].each { |method|
        arrived(by(client, method, endpoint.url("/upload"), body: BODY), BODY, method)
      }
      arrived(by(client, "POST", endpoint.url("/upload"), body: ""), "", "POST")
      client.stats[:opened].then { |opened| "#{opened} connections" if opened > 1 }
    end

    # Sends a request. If it fails, the failure names the method.
    def by(client, method, url, **more)
      client.request(method, url, **more)
    rescue Hecaton::Error => error
      raise Failed, "#{method}: #{error.class.name} #{error.message}"
    end

    def curl_verbs(endpoint)
      Tempfile.create("body", server.dir, binmode: true) do |file|
        file.write(BODY)
        file.flush
        %w[GET DELETE OPTIONS].all? { |method| endpoint.curl("/echo?id=1", "-X", method).ok? } &&
          endpoint.curl("/echo", "-I").ok? &&
          %w[POST PUT PATCH].all? { |method|
            endpoint.curl("/upload", "-X", method, "-H", "Expect:", "--data-binary", "@#{file.path}").ok?
          }
      end
    end
  end

  check "verbs", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS; bodies of 300 kB and none arrive whole",
    like_curl: ->(server) { curl_verbs(server.endpoint) } do |server|
    verbs_of(server.endpoint)
  end

  [[:h2, "2"], [:h3, "3"]].each do |name, version|
    check "verbs/#{version}", "the same over HTTP/#{version}", needs: name,
      like_curl: ->(server) { curl_verbs(server.endpoint(name)) } do |server|
      verbs_of(server.endpoint(name))
      same(version, server.endpoint(name).client.get(server.endpoint(name).url("/echo")).attempts.last.version,
        "version")
      nil
    end
  end

  # curl sends the same body in chunks, for comparison.
  CURL_CHUNKS = lambda do |server|
    Tempfile.create("body", server.dir, binmode: true) do |file|
      file.write(BODY)
      file.flush
      server.endpoint.curl("/upload", "-H", "Transfer-Encoding: chunked", "-H", "Expect:", "--data-binary",
        "@#{file.path}").ok?
    end
  end

  check "chunked", "a body of unknown length, sent in chunks, arrives whole", like_curl: CURL_CHUNKS do |server|
    arrived(server.endpoint.client.put(server.endpoint.url("/upload"), body: PIECES.each), BODY, "PUT")
    nil
  end

  check "expect", "Expect: 100-continue: the body arrives whole, at most some seconds later" do |server|
    begun = now
    arrived(server.endpoint.client.post(server.endpoint.url("/upload"),
      body: BODY, headers: { "Expect" => "100-continue" }),
      BODY, "POST")
    must(now - begun < 5, "took #{(now - begun).round(1)} s")
    nil
  end

  BY_VERSION.each do |endpoint, suffix|
    check "large#{suffix}", "5 MB down, read piece by piece#{Servers.over(suffix)}", needs: endpoint,
      like_curl: ->(server) { server.endpoint(endpoint).curl("/bytes/5000000").body.bytesize == 5_000_000 } do |server|
      size = pieces = 0
      server.endpoint(endpoint).client.get(server.endpoint(endpoint).url("/bytes/5000000")) do |response|
        same(200, response.status, "status")
        response.each_chunk { |chunk| size += chunk.bytesize; pieces += 1 }
      end
      same(5_000_000, size, "bytes")
      must(pieces > 1, "the body came as one piece")
      nil
    end
  end
end
