# Crawls a tree: each response queues the URLs that it links to, so many at a time and no more than a few per server.
#
#   bin/hecaton serve                       # a test server to try it on; it prints its URL
#   ruby -Iruby/lib ruby/examples/crawler.rb http://127.0.0.1:PORT
require "hecaton"

base = ARGV[0] || ENV.fetch("BASE_URL")
pages = 100

# The URLs that a page links to. Here each number leads to two others; a real one would look for links in response.body.
links = ->(url, _response) { [1, 2].map { |step| url.sub(/\d+\z/) { |id| (id.to_i * 2 + step).to_s } } }

client = Hecaton::Client.new(timeout: 10, base_url: base)
seen = {}
failed = []

client.batch(concurrency: 20, per_origin: 5) do |batch|
  visit = lambda do |url|
    next if seen.key?(url) || seen.size >= pages

    seen[url] = nil
    batch.get(url)
      .on_success do |outcome|
        seen[url] = outcome.response.body.bytesize
        links.call(url, outcome.response).each(&visit)
      end
      .on_failure { |outcome| failed << [url, outcome.error || outcome.response.status] }
  end
  visit.call("/r/0")
end

puts "#{seen.size} pages, #{seen.values.compact.sum} bytes, #{failed.size} failed"
failed.each { |url, reason| puts "  #{url}: #{reason}" }
