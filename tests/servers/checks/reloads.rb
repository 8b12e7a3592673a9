# The server reads its configuration anew while it receives requests: a user of the gem must not notice.
module Servers
  RELOADS = 4
  APART = 0.4
  # How long a busy machine may take until a reload shows something.
  SHOWS_WITHIN = 25

  class Asked
    # Sends requests in 5 threads, by the block, until the server has been reloaded so often and `shows` is true of what has been
    # returned. Returns [what it returned, what it raised].
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

    # So many reloads, and more until the block is true, if a busy machine takes longer.
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
      needed = endpoint.options[:http] == "2" ? 1 : 5
      shows = ->(responses) { responses.size > 50 && client.stats[:opened] > needed }
      responses, failures = while_reloading(shows) do |id|
        client.get(endpoint.url("/echo?id=#{id}")).tap { |response| answers(response, id) }
      end
      none_failed(failures, responses.size + failures.size)
      must(responses.size > 50, "only #{responses.size} GETs were answered")
      fresh = client.stats[:opened]
      must(fresh > needed, "the reload closed no connection (#{fresh} opened): it shows nothing")
      told(resent(responses), "#{responses.size} GETs, #{fresh} connections")
    end
  end

  check "reload", "#{RELOADS} reloads while 5 threads GET: none is lost", needs: %i[reload clear] do |server|
    reload_gets(server.endpoint)
  end

  check "reload/2", "the same over HTTP/2", needs: %i[reload h2] do |server|
    reload_gets(server.endpoint(:h2))
  end

  class Asked
    # GETs at 50 in a batch, which continues until the server has been reloaded so often. Returns the outcomes.
    def batch_while_reloading(client, endpoint, headers)
      over, id, outcomes = false, 0, []
      needed = connections_of(endpoint)
      # The batch is the whole of this thread.
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
      failed, answered = outcomes.partition { |outcome,| outcome.error }
      answered.each { |outcome, id| answers(outcome.response, id) }
      none_failed(failed.map { |outcome,| outcome.error }, outcomes.size)
      must(answered.size > 50, "only #{answered.size} GETs were answered")
      fresh = client.stats[:opened]
      must(fresh > (endpoint.options[:http] == "2" ? 1 : 50),
        "the reload closed no connection (#{fresh} opened): it shows nothing")
      told(answered.sum { |outcome,| resent([outcome]) }, "#{answered.size} GETs, #{fresh} connections")
    end

    # How many connections a batch at 50 opens where nothing is closed.
    def connections_of(endpoint) = endpoint.options[:http] == "2" ? 1 : 50

    # The same by curl, 500 GETs a command: whether all got a response.
    def curl_reload_batch(endpoint, *more)
      reloading = Thread.new { reload { true } }
      codes = []
      while reloading.alive?
        told = endpoint.curl("/echo?id=[1-500]", *more, "--parallel", "--parallel-max", "50", "-w",
          "\n%{http_code} %{exitcode}\n")
        codes |= told.body.scrub.scan(/^(\d{3}) (\d+)$/)
      end
      codes == [%w[200 0]]
    end
  end

  [[:clear, ""], [:h2, "/2"]].each do |name, suffix|
    check "reload batch#{suffix}", "#{RELOADS} reloads during a batch of GETs at 50#{" over HTTP/2" if name == :h2}: none is lost",
      needs: [:reload, name], limit: 90, like_curl: ->(server) { curl_reload_batch(server.endpoint(name)) } do |server|
      reload_batch(server.endpoint(name))
    end
  end

  NEW = { "Connection" => "close" }.freeze

  # Connections that wait to be accepted while the server reloads are reset.
  [[:clear, ""], [:tls_rsa, " TLS"]].each do |name, suffix|
    check "reload new#{suffix}", "the same with a new connection for each GET#{" over TLS" if name == :tls_rsa}: none is lost",
      needs: [:reload, name], limit: 90, like_curl: ->(server) { curl_reload_batch(server.endpoint(name), "--http1.1", "-H", "Connection: close") } do |server|
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
    answered, failed = while_reloading do |id|
      same(200, client.post(endpoint.url("/r/#{id}"), body: "x" * 1000).status, "status")
    end
    after = server.test_server.ledger
    same(before["duplicates"], after["duplicates"], "POSTs that arrived twice")
    arrived = after["distinct"] - before["distinct"]
    must(arrived.between?(answered.size, answered.size + failed.size),
      "#{answered.size} answered, #{failed.size} failed, #{arrived} arrived")
    "#{answered.size} POSTs#{", #{failed.size} failed, so said" if failed.any?}"
  end
end
