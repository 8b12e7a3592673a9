# Heads of responses: many fields are accepted, too many end that response alone.
module Servers
  BY_VERSION.each do |name, suffix|
    check "fields#{suffix}",
      "900 fields are accepted#{Servers.over(suffix)}; 3,000 fields fail one request, and its 20 neighbours succeed",
      needs: [name, :fields], like_curl: ->(server) { server.endpoint(name).curl("/fields/900").ok? } do |server|
      endpoint = server.endpoint(name)
      response = endpoint.client.get(endpoint.url("/fields/900"))
      same([200, "value"], [response.status, response.headers["f-899"]], "status and last field")
      outcomes = endpoint.client
        .get_all([*Array.new(10) { |id| endpoint.url("/echo?id=#{id}") }, endpoint.url("/fields/3000"),
                  *Array.new(10) { |id| endpoint.url("/echo?id=#{id}") }])
      bad = outcomes.each_index.select { |at| outcomes[at].error }
      same([10], bad, "which failed")
      must(outcomes[10].error.message.match?(/field|header/i),
        "the error does not name the fields: #{outcomes[10].error.message}")
      nil
    end
  end
end
