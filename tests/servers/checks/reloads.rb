# Reloads of a server's configuration under load: no request may be lost.
module Servers
  RELOADS = 4
  APART = 0.4
  # Seconds that a busy machine may take until a reload has closed connections.
  SHOWS_WITHIN = 25

  class Context
    # Calls the block in 5 threads until the server has been reloaded RELOADS times and `shows` is true of the results.
    # Returns the results and the errors.
    def while_reloading(shows = ->(_) { true })
      over = false
      good, bad = Queue.new, Queue.new
      workers = Array.new(5) do |thread|
        Thread.new do
          at = 0
          until over
            begin
              good << yield(thread * 1_000_000 + (at += 1))
            rescue Hecaton::Error, Failed => error
              bad << error
            end
          end
        end
      end
      reload { shows.call(good) }
      over = true
      workers.each(&:join)
      [good, bad].map { |queue| Array.new(queue.size) { queue.pop } }
    ensure
      over = true
    end

    # Reloads RELOADS times, and then until the block is true, because a busy machine may take longer.
    def reload
      latest = now + SHOWS_WITHIN
      RELOADS.times { reload_once }
      reload_once until yield || now > latest
      sleep APART
    end

    def reload_once
      sleep APART
      server.reload
    end

    def reload_gets(endpoint)
      client = endpoint.client
      needed = shares?(endpoint) ? 1 : 5
      shows = ->(responses) { responses.size > 50 && client.stats[:opened] > needed }
      responses, failures = while_reloading(shows) do |id|
        client.get(endpoint.url("/echo?id=#{id}")).tap { |response| verify_id(response, id) }
      end
      none_failed(failures, responses.size + failures.size)
      must(responses.size > 50, "only #{responses.size} GETs got a response")
      opened = client.stats[:opened]
      must(opened > needed, "the reload closed no connection (#{opened} opened), so the check shows nothing")
      note(resent(responses), "#{responses.size} GETs, #{opened} connections")
    end
  end

  check "reload", "#{RELOADS} reloads while 5 threads GET: none is lost", needs: %i[reload clear] do |server|
    reload_gets(server.endpoint)
  end

  [[:h2, "2"], [:h3, "3"]].each do |name, version|
    check "reload/#{version}", "the same over HTTP/#{version}", needs: [:reload, name] do |server|
      reload_gets(server.endpoint(name))
    end
  end

  class Context
    # Sends GETs at 50 in a batch until the server has been reloaded RELOADS times. Returns the outcomes.
    def batch_while_reloading(client, endpoint, headers)
      over, id, outcomes = false, 0, []
      needed = connections_of(endpoint)
      # This thread runs only the batch.
      reloading = Thread.new { reload { outcomes.size > 100 && client.stats[:opened] > needed } }
      reloading.report_on_exception = false
      client.batch(concurrency: 50) do |batch|
        again = lambda do
          this = id += 1
          batch.get(endpoint.url("/echo?id=#{this}"), headers: headers).on_complete do |outcome|
            outcomes << [outcome, this]
            over ||= !reloading.alive?
            again.call unless over
          end
        end
        50.times { again.call }
      end
      reloading.join
      outcomes
    end

    def reload_batch(endpoint, headers: {}, **options)
      client = endpoint.client(**options)
      outcomes = batch_while_reloading(client, endpoint, headers)
      failed, succeeded = outcomes.partition { |outcome,| outcome.error }
      succeeded.each { |outcome, id| verify_id(outcome.response, id) }
      none_failed(failed.map { |outcome,| outcome.error }, outcomes.size)
      must(succeeded.size > 50, "only #{succeeded.size} GETs got a response")
      opened = client.stats[:opened]
      must(opened > connections_of(endpoint),
        "the reload closed no connection (#{opened} opened), so the check shows nothing")
      note(succeeded.sum { |outcome,| resent([outcome]) }, "#{succeeded.size} GETs, #{opened} connections")
    end

    # The number of connections that a batch at 50 opens if the server closes none.
    def connections_of(endpoint) = shares?(endpoint) ? 1 : 50

    # Whether requests are streams of few connections.
    def shares?(endpoint) = %w[2 3].include?(endpoint.options[:http])

    # Whether curl gets a response to each of 500 GETs in one command.
    def curl_reload_batch(endpoint, *more)
      reloading = Thread.new { reload { true } }
      codes = []
      while reloading.alive?
        result = endpoint.curl("/echo?id=[1-500]", *more, "--parallel", "--parallel-max", "50", "-w",
          "\n%{http_code} %{exitcode}\n")
        codes |= result.body.scrub.scan(/^(\d{3}) (\d+)$/)
      end
      codes == [%w[200 0]]
    end
  end

  BY_VERSION.each do |name, suffix|
    check "reload batch#{suffix}",
      "#{RELOADS} reloads during a batch of GETs at 50#{Servers.over(suffix)}: none is lost",
      needs: [:reload, name], limit: 90, like_curl: ->(server) { curl_reload_batch(server.endpoint(name)) } do |server|
      reload_batch(server.endpoint(name))
    end
  end

  NEW = { "Connection" => "close" }.freeze

  # Connections that wait to be accepted while the server reloads are reset.
  [[:clear, ""], [:tls_rsa, " TLS"]].each do |name, suffix|
    check "reload new#{suffix}",
      "the same with a new connection for each GET#{" over TLS" if name == :tls_rsa}: none is lost",
      needs: [:reload, name], limit: 90,
      like_curl: ->(server) {
        curl_reload_batch(server.endpoint(name), "--http1.1", "-H", "Connection: close")
      } do |server|
      reload_batch(server.endpoint(name), headers: NEW, http: "1.1")
    end
  end

  # A POST may fail, for it may have been processed. But nothing arrives twice, and every POST with a response has
  # arrived.
  check "reload POST", "#{RELOADS} reloads while 5 threads POST: none reaches the back end twice",
    needs: %i[reload clear ledger] do |server|
    endpoint = server.endpoint
    client = endpoint.client
    before = server.test_server.ledger
    succeeded, failed = while_reloading do |id|
      same(200, client.post(endpoint.url("/r/#{id}"), body: "x" * 1000).status, "status")
    end
    after = server.test_server.ledger
    same(before["duplicates"], after["duplicates"], "POSTs that arrived twice")
    arrived = after["distinct"] - before["distinct"]
    must(arrived.between?(succeeded.size, succeeded.size + failed.size),
      "#{succeeded.size} succeeded, #{failed.size} failed, #{arrived} arrived")
    "#{succeeded.size} POSTs#{", #{failed.size} failed with an error" if failed.any?}"
  end
end
