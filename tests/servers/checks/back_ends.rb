# Faults of a back end that its proxy forwards over HTTP/2: only the requests concerned fail.
module Servers
  class Context
    # Sends this many GETs of each path, in turn, at 50 on few connections. Returns the outcomes by path.
    def get_in_turn(endpoint, paths, each)
      outcomes = Hash.new { |hash, path| hash[path] = [] }
      endpoint.client.batch(concurrency: 50) do |batch|
        each.times { |id|
          paths.each { |path|
            batch.get(endpoint.url("#{path}?id=#{id}")).on_complete { |outcome| outcomes[path] << outcome }
          }
        }
      end
      outcomes
    end

    # Sends the GETs with curl. Returns the status, exit code and size of each, by path.
    def curl_in_turn(endpoint, paths, each)
      list = paths.map { |path| path.delete_prefix("/") }.join(",")
      result = endpoint.curl("/{#{list}}?id=[1-#{each}]", "--parallel", "--parallel-max", "50",
        "-w", "\n%{http_code} %{exitcode} %{size_download} %{url}\n", limit: 100)
      result.body.scrub.scan(%r{^(\d{3}) (\d+) (\d+) https://[^/]+(/[^?\s]+)}).group_by(&:pop)
    end

    # Checks that all failed, each in one attempt, and that each reached the back end once.
    def failed_once(outcomes, path, arrived)
      good = outcomes.reject(&:error)
      must(good.empty?,
        "#{good.size} of #{outcomes.size} GETs of #{path} succeeded (#{good.first&.status}), " \
        "so the check shows nothing")
      again = outcomes.count { |outcome| outcome.attempts.size > 1 }
      must(again.zero? && arrived == outcomes.size,
        "#{again} of #{outcomes.size} bad GETs were re-sent, #{arrived} arrived")
    end
  end

  NEIGHBOURS = %w[/a /b /c /d /e /f /g].freeze

  CURL_HINTS = lambda do |server|
    results = curl_in_turn(server.endpoint(:hints), [*NEIGHBOURS, "/hints"], 150)
    results.values_at(*NEIGHBOURS).flatten(1).count { |status, exit,| [status, exit] == %w[200 0] } == 1050
  end

  check "103",
    "1,050 GETs beside 150 whose back end sends 103, over HTTP/2: the 1,050 succeed, the 150 fail and are not re-sent",
    needs: :hints, limit: 120, like_curl: CURL_HINTS do |server|
    endpoint = server.endpoint(:hints)
    before = server.back_end.count("/hints")
    outcomes = get_in_turn(endpoint, [*NEIGHBOURS, "/hints"], 150)
    none_failed(outcomes.values_at(*NEIGHBOURS).flatten.filter_map(&:error), 1050)
    failed_once(outcomes["/hints"], "/hints", server.back_end.count("/hints") - before)
    Context.kind(outcomes["/hints"].first.error)
  end

  SIZE = 1000
  PLAIN = "/plain/#{SIZE}".freeze
  TRAILED = "/trailers/#{SIZE}".freeze

  # Whether each body is whole, or its request failed.
  CUT = ->(outcome) { outcome.error.nil? && outcome.body != "t" * (2 * SIZE) }

  CURL_TRAILERS = lambda do |server|
    results = curl_in_turn(server.endpoint(:trailers), [PLAIN, TRAILED], 2500)
    results.values.flatten(1).none? { |_, exit, size| exit == "0" && size.to_i != 2 * SIZE } &&
      results[PLAIN].all? { |_, exit,| exit == "0" }
  end

  check "trailers",
    "25,000 bodies over HTTP/2, half with trailers from the back end: none is cut, none without trailers fails",
    needs: :trailers, limit: 150, like_curl: CURL_TRAILERS do |server|
    outcomes = get_in_turn(server.endpoint(:trailers), [PLAIN, TRAILED], 12_500)
    cut = outcomes.values.flatten.select(&CUT)
    must(cut.empty?,
      "#{cut.size} of 25,000 bodies were cut in silence: #{cut.map { |outcome| outcome.body.bytesize }.tally} bytes")
    none_failed(outcomes[PLAIN].filter_map(&:error), 12_500)
    failed = outcomes[TRAILED].filter_map(&:error)
    "of 12,500 with trailers #{failed.size} failed#{": #{Context.kind(failed.first)}" if failed.any?}"
  end
end
