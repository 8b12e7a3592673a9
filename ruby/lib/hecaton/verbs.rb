# get and its sisters, for whatever can `send_request`.
module Hecaton
  # Included by Client and Batch. Each takes a URL and what `request` takes after it, as keywords.
  #
  # `options` is the Hash that Ruby makes of keywords: nil, and no object at all, where there are none. `other` is what
  # no request takes, such as headers after a body: Ruby itself would only count the arguments.
  module Verbs
    %w[get head post put patch delete options].each do |verb|
      class_eval <<~RUBY, __FILE__, __LINE__ + 1
        def #{verb}(url, options = nil, other = nil, &block)
          Request.refuse_options(options, other) if other
          send_request("#{verb.upcase}".freeze, url, options, &block)
        end
      RUBY
    end
  end
end
