# Requests that differ from each other: each has a header field with its id.
module Kit
  # For a job of such requests. The id is that of the request that this thread or fiber took last.
  module Differing
    # Takes a request; returns its URL.
    def take(id)
      Thread.current[:taken] = id
      mix ? mix[id % mix.size] : url
    end

    def headers = super.merge(id_field => "hecaton-#{Thread.current[:taken]}")
  end
end
