# Requests that differ from each other: those of a HAR file take turns, and each may have a header field with its id.
module Kit
  # For a job of such requests. Its method, header fields and body are those of the request that this thread or fiber
  # took last; before any, of the first.
  module Differing
    ALIKE = [{}].freeze

    # Takes a request; returns its URL.
    def take(id)
      Thread.current[:taken] = [id, entries[id % entries.size]]
      entry.fetch("url") { mix ? mix[id % mix.size] : url }
    end

    def method = entry.fetch("method") { super }
    def content = entry.key?("url") ? entry["body"] : super

    def headers
      fields = entry.fetch("fields") { super }
      id_field ? fields.merge(id_field => "hecaton-#{Thread.current[:taken]&.first}") : fields
    end

    private

    def entries = @entries ||= requests ? File.readlines(requests).map { |line| JSON.parse(line) } : ALIKE
    def entry = Thread.current[:taken]&.last || entries.first
  end
end
