# Connections: reused, shared, and closed by the server without the loss of a request.
module Servers
  class Context
    # Sends GETs from some threads. Returns the verified responses, and the failures.
    def gets(endpoint, threads:, each:, client: endpoint.client)
      good = Queue.new
      failures = Queue.new
      threads(threads) do |thread|
        each.times do |at|
          id = thread * 1_000_000 + at
          response = client.get(endpoint.url("/echo?id=#{id}"))
          verify_id(response, id)
          good << response
        rescue Hecaton::Error, Failed => error
          failures << error
        end
      end
      [Array.new(good.size) { good.pop }, Array.new(failures.size) { failures.pop }]
    end

    # Sends GETs in a batch, and checks that each response belongs to its request.
    def batch(endpoint, count, concurrency, client: endpoint.client)
      failures = []
      resends = 0
      client.batch(concurrency: concurrency) do |batch|
        count.times do |id|
          batch.get(endpoint.url("/echo?id=#{id}")).on_complete do |outcome|
            resends += outcome.attempts.count { |attempt| attempt.ending == :resent }
            outcome.error ? failures << outcome.error : verify_id(outcome.response, id)
          rescue Failed => error
            failures << error
          end
        end
      end
      none_failed(failures, count)
      [client.stats[:opened], resends]
    end

    def note(resends, more = nil) = [more, ("#{resends} re-sent" if resends.positive?)].compact.join(", ").then { |text|
      text unless text.empty?
    }
  end

  check "reuse", "30 GETs one after another take one connection", needs: %i[clear keep_alive] do |server|
    client = server.endpoint.client
    responses = Array.new(30) { |id|
      client.get(server.endpoint.url("/echo?id=#{id}")).tap { |response| verify_id(response, id) }
    }
    same(1, client.stats[:opened], "connections")
    same(29, client.stats[:reused], "reused")
    note(resent(responses))
  end

  check "many", "300 GETs, 10 threads with one client: none is lost, and connections are shared" do |server|
    client = server.endpoint.client
    responses, failures = gets(server.endpoint, threads: 10, each: 30, client: client)
    none_failed(failures, 300)
    must(client.stats[:opened] <= 10 + resent(responses),
      "#{client.stats[:opened]} connections for 10 threads") if server.keep_alive?
    note(resent(responses), "#{client.stats[:opened]} connections")
  end

  check "batch", "500 GETs at 50: each response is that of its request, at most 50 connections" do |server|
    opened, resends = batch(server.endpoint, 500, 50)
    must(opened <= 50 + resends, "#{opened} connections at 50") if server.keep_alive_under_load?
    note(resends, "#{opened} connections")
  end

  [[:h2, "2"], [:h3, "3"]].each do |name, version|
    check "batch/#{version}",
      "500 GETs at 50 over HTTP/#{version}: as few connections as the server's limit on streams allows",
      needs: name do |server|
      opened, resends = batch(server.endpoint(name), 500, 50)
      must(opened <= 50 / server.streams + 2 + resends, "#{opened} connections")
      note(resends, "#{opened} connections")
    end
  end

  # Half of the waits are within some milliseconds of the server's limit, and half differ more. Delays of the machine
  # spread them further.
  WAITS = Array.new(80) { |at| at.even? ? 0.998 + at * 0.0001 : 0.92 + at * 0.002 }.freeze

  class Context
    # Sends requests that return when the server's limit ends, so some are sent while the server closes the connection.
    # Returns the responses, the errors, and how many connections were opened.
    def come_back(endpoint)
      opened = Queue.new
      outcomes = threads(WAITS.size) do |at|
        client = endpoint.client
        outcomes = Array.new(4) do |round|
          sleep WAITS[(at + round * 13) % WAITS.size] if round.positive?
          client.get(endpoint.url("/echo?id=#{at}"))
        rescue Hecaton::Error => error
          error
        end
        opened << client.stats[:opened]
        outcomes
      end.flatten
      failures, responses = outcomes.partition { |outcome| outcome.is_a?(Hecaton::Error) }
      responses.each { |response| same(200, response.status, "status") }
      [responses, failures, Array.new(opened.size) { opened.pop }.sum]
    end
  end

  check "keep-alive",
    "the server closes idle connections after a second: 80 clients come back around that moment, 3 times",
    needs: :short do |server|
    responses, failures, = come_back(server.endpoint(:short))
    none_failed(failures, responses.size + failures.size)
    must(closes_idle?(server.endpoint(:short)),
      "the server closed no connection within 5 seconds, so the check shows nothing")
    note(resent(responses))
  end

  # The idle limit of QUIC holds from the first packet of a handshake (RFC 9000 §10.1). When the machine is busy or
  # drops packets, a handshake takes longer than the second that nginx allows, and a connection that a request opened
  # ends before its response.
  check "keep-alive/3", "the same over HTTP/3: no request fails on a connection that it reused",
    needs: :short_h3 do |server|
    responses, failures, opened = come_back(server.endpoint(:short_h3))
    on_reused = failures.select { |failure| failure.attempts.last.reused? }
    none_failed(on_reused, responses.size + failures.size)
    must(opened > WAITS.size, "the server closed no connection, so the check shows nothing")
    must(responses.any?, "no request got a response")
    note(resent(responses), "#{opened} connections, #{failures.size} requests failed on new ones")
  end

  check "idle", "connections that the server ended are gone from the pool while nobody sends anything",
    needs: :short do |server|
    endpoint = server.endpoint(:short)
    client = endpoint.client
    client.batch(concurrency: 10) { |batch| 10.times { |id| batch.get(endpoint.url("/echo?id=#{id}")) } }
    held = -> {
      Dir.children("/proc/self/fd").count { |fd|
        File.readlink("/proc/self/fd/#{fd}").start_with?("socket:") rescue false
      }
    }
    before = [client.stats[:idle], held.call]
    deadline = now + 6
    sleep 0.1 until client.stats[:idle].zero? || now > deadline
    same(0, client.stats[:idle], "idle connections of #{before.first}, 6 s later")
    must(held.call < before.last, "#{held.call} sockets are open, as before")
    nil
  end

  class Context
    # Whether the server ends an idle connection.
    def closes_idle?(endpoint)
      uri = URI(endpoint.base)
      Socket.tcp(uri.host, uri.port) do |socket|
        socket.write("GET /echo HTTP/1.1\r\nHost: #{uri.host}\r\n\r\n")
        deadline = now + 5
        while (left = deadline - now).positive?
          next unless socket.wait_readable(left)
          return true if socket.read_nonblock(65_536, exception: false).nil?
        end
      end
      false
    rescue Errno::ECONNRESET
      true
    end
  end
end
