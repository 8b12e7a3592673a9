# Every example of docs/cookbook.md runs as it stands there, and prints what stands below it.
require "test_helper"
require "open3"
require "scripted"
require "tmpdir"

class CookbookTest < Minitest::Test
  PAGE = File.read(File.expand_path("../../docs/cookbook.md", __dir__))
  LIB = File.expand_path("../lib", __dir__)
  # The server that the page's examples use, which does not exist here.
  PLACE = "https://api.example.org"
  JSON_TYPE = { "Content-Type" => "application/json; charset=utf-8" }.freeze

  # In the shape of OpenTelemetry's API for Ruby: what the example uses of it.
  OPEN_TELEMETRY = <<~RUBY
    module OpenTelemetry
      Span = Struct.new(:name, :kind, :attributes, :start_timestamp, :status, :exception) do
        def record_exception(exception) = self.exception = exception

        def finish(end_timestamp:)
          raise "no time" unless end_timestamp > start_timestamp

          puts [name, kind, attributes["http.response.status_code"], *status].join(" ")
        end
      end
      module Trace
        Status = Struct.new(:description) do
          def self.error(description) = new(description)
          def to_s = "error: \#{description}"
          def to_a = [to_s]
        end
      end
      Tracer = Class.new do
        def start_span(name, kind:, attributes:, start_timestamp:)
          raise "no attribute" unless attributes.keys.all?(String)

          Span.new(name, kind, attributes, start_timestamp)
        end
      end
      Provider = Class.new { def tracer(_name, _version) = Tracer.new }
      def self.tracer_provider = Provider.new
    end
  RUBY

  # Responses by path; a path that takes a token has several, in turn.
  class Api
    EVENTS = ": hi\n\ndata: hello\nid: 7\n\nevent: price\ndata: 12\nid: 8\n\n"
    RESPONSES = {
      "/status" => Scripted.response(200, { "Content-Type" => "text/plain" }, "all good"),
      "/v1/users/1" => Scripted.response(200, JSON_TYPE.merge("Set-Cookie" => "theme=dark"), '{"id":1,"name":"Ada"}'),
      "/v1/users" => Scripted.response(201),
      "/v1/files" => ->(request) {
        Scripted.response(201, { "Content-Type" => "text/plain" }, request[/filename="(.*?)"/, 1])
      },
      "/v1/users/9" => Scripted.response(404, { "Content-Type" => "text/plain" }, "nobody"),
      "/v1/items?page=1" => Scripted.response(200, JSON_TYPE.merge("Link" => '<items?page=2>; rel="next"'), "[1,2]"),
      "/v1/items?page=2" => Scripted.response(200, JSON_TYPE, "[3]"),
      "/v1/log" => Scripted.response(200,
        { "Content-Type" => "text/plain", "ETag" => '"1"' }, "1 good\n2 error\n3 good\n\n"),
      "/v1/events" => Scripted.response(200, { "Content-Type" => "text/event-stream" }, EVENTS)
    }.freeze

    def fetch(path)
      return RESPONSES.fetch(path.sub("?key=secret", "")) { yield } unless path == "/v1/private"

      @requested = @requested.to_i + 1
      @requested == 1 ? Scripted.response(401) : Scripted.response(200, {}, "come in")
    end
  end

  # Each title with its examples: [title, number, program, output].
  EXAMPLES = PAGE.split(/^## /).drop(1).flat_map do |section|
    section.scan(/^```ruby\n(.*?)^```\n\n```text\n(.*?)^```/m).each_with_index.map { |example, number|
      [section.lines.first.chomp, number, *example]
    }
  end

  def test_no_example_is_left_out
    assert_equal PAGE.scan(/^```ruby$/).size, EXAMPLES.size
    assert_operator EXAMPLES.size, :>=, 15
    titles = PAGE.scan(/^## (.*)$/).flatten
    assert_equal titles, PAGE.scan(/^- \[(.*)\]\(#/).flatten
    assert_equal titles, EXAMPLES.map(&:first).uniq
  end

  EXAMPLES.each do |title, number, program, output|
    define_method("test_#{title.downcase.gsub(/\W+/, "_")}_#{number}") do
      if program.include?("active_support") && Gem::Specification.find_all_by_name("activesupport").empty?
        skip "ActiveSupport is not there"
      end
      Scripted.run(Api.new) do |server|
        Dir.mktmpdir do |folder|
          text = [(OPEN_TELEMETRY if program.include?("OpenTelemetry")), program]
            .compact.join("\n").gsub(PLACE, server.url)
          said, complaints, status = Open3.capture3(RbConfig.ruby, "-I#{LIB}", "-e", text, chdir: folder)
          assert_predicate status, :success?, complaints
          assert_equal output, plain(said.gsub(server.url, PLACE))
        end
      end
    end
  end

  private

  # As Ruby 3.1 shows a Hash, which later ones show otherwise.
  def plain(said) = said.gsub(/\b(\w+): (?=[\d"].*\}$)/, ':\1=>')
end
