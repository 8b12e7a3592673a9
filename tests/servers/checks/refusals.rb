# Requests that the server rejects: too large bodies, too many streams, too many requests on one connection.
module Servers
  LARGE = 20_000_000

  class Context
    def refuses_early(endpoint)
      statuses = Array.new(10) do |at|
        client = endpoint.client
        body = at.even? ? "x" * LARGE : Enumerator.new { |out| 200.times { out << "x" * (LARGE / 200) } }
        client.post(endpoint.url(server.early_path), body: body).status
      rescue Hecaton::Error => error
        error
      end
      none_failed(statuses.grep(Exception), statuses.size)
      same([413], statuses.uniq, "statuses")
      nil
    end

    def curl_refuses_early(endpoint)
      Tempfile.create("body", server.dir) do |file|
        file.write("x" * LARGE)
        file.flush
        results = Array.new(10) { endpoint.curl(server.early_path, "-H", "Expect:", "--data-binary", "@#{file.path}") }
        results.all? { |result| result.status == 413 }
      end
    end
  end

  [[:early, ""], [:early_h2, "/2"], [:early_h3, "/3"]].each do |endpoint, suffix|
    check "early#{suffix}", "413 while 20 MB are sent#{Servers.over(suffix)}, 10 times: the response is received",
      needs: endpoint, like_curl: ->(server) { curl_refuses_early(server.endpoint(endpoint)) } do |server|
      refuses_early(server.endpoint(endpoint))
    end
  end

  # The server responds to these uploads with a body at once, and closes. Each upload ends in the response, or in an
  # error with the status if the server's kernel discarded the body.
  check "early cut", "413 with a body while 100 kB are sent on a keep-alive connection, " \
  "and the end of it, 40 times: the client gets the status each time",
    needs: :early_cut, like_curl: ->(server) { server.curl_early_cut(40).all?("413 0") } do |server|
    endpoint = server.endpoint(:early_cut)
    cut = Array.new(40) do
      client = endpoint.client
      client.get(endpoint.url("/echo?id=1"))
      same(413, client.post(endpoint.url("/early/9"), body: "x" * 100_000).status, "status")
      nil
    rescue Hecaton::BodyError => error
      must(error.message.include?("status 413"), "the error does not say the status: #{Context.kind(error)}")
      same(413, error.attempts.last.status, "status of the attempt")
      error
    end.compact
    "#{cut.size} of 40 bodies were cut, so said"
  end

  [["", "streams"], ["/3", "streams_3"]].product([1, 10, 100]).each do |(suffix, prefix), streams|
    name = :"#{prefix}_#{streams}"
    check "streams#{suffix} #{streams}",
      "300 GETs at 100 where a connection may hold #{streams} stream#{"s" if streams > 1}#{Servers.over(suffix)}: " \
      "none is lost",
      needs: name do |server|
      endpoint = server.endpoint(name)
      opened, resends = batch(endpoint, 300, 100)
      must(opened <= 100 / streams + 2 + resends, "#{opened} connections")
      note(resends, "#{opened} connections")
    end
  end

  # A request that the server did not process is re-sent, whatever its method. No request is processed twice.
  [[:few, ""], [:few_h3, "/3"]].each do |name, suffix|
    check "GOAWAY POST#{suffix}", "1,000 POSTs at 100 there: each arrives once", needs: [name, :ledger] do |server|
      before = server.test_server.ledger
      failures = []
      server.endpoint(name).client.batch(concurrency: 100) do |batch|
        1000.times { |id|
          batch.post(server.endpoint(name).url("/r/#{5_000_000 + id}"), body: "x" * 100).on_failure { |outcome|
            failures << outcome.error
          }
        }
      end
      after = server.test_server.ledger
      same(before["duplicates"], after["duplicates"], "POSTs that arrived twice")
      none_failed(failures, 1000)
      same(1000, after["distinct"] - before["distinct"], "POSTs that arrived")
      nil
    end
  end

  check "starved",
    "200 requests at once to a server that accepts 100 connections: " \
    "time-outs name per_origin, and per_origin 50 avoids them",
    needs: :takes_100 do |server|
    endpoint = server.endpoint
    failures = []
    send_all = lambda do |client|
      failures.clear
      client.batch(concurrency: 200) do |batch|
        400.times { |id| batch.get(endpoint.url("/echo?id=#{id}")).on_failure { |outcome| failures << outcome.error } }
      end
      client.close
    end
    send_all.call(endpoint.client(timeout: 3))
    must(failures.any?, "no request failed at 200, so the check shows nothing")
    silent = failures.map(&:message).grep_v(/per_origin/)
    must(silent.empty?, "#{silent.size} of #{failures.size} errors do not name per_origin: #{silent.first}")
    send_all.call(endpoint.client(per_origin: 50))
    none_failed(failures, 400)
    nil
  end

  [[:few, ""], [:few_h3, "/3"]].each do |name, suffix|
    check "GOAWAY#{suffix}",
      "2,000 GETs at 200 where a connection ends by GOAWAY after 100 requests#{Servers.over(suffix)}: " \
      "none is lost", needs: name,
      like_curl: lambda { |server|
        # One curl command sends all of them, and ends with the first failure.
        server.endpoint(name)
          .curl("/echo?id=[1-2000]", "--parallel", "--parallel-max", "200", "--fail-early").exit.zero?
      } do |server|
      opened, resends = batch(server.endpoint(name), 2000, 200)
      must(opened >= 15, "only #{opened} connections: no GOAWAY came")
      note(resends, "#{opened} connections")
    end
  end
end
