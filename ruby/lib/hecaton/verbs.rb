# get and its sisters, for whatever can `send_request`.
module Hecaton
  # Included by Client and Batch. Each takes a URL and what `request` takes after it, as keywords.
  #
  # `options` is the Hash that Ruby makes of keywords: nil, and no object at all, where there are none.
  module Verbs
    %w[get head post put patch delete options].each do |verb|
      class_eval <<~RUBY, __FILE__, __LINE__ + 1
        def #{verb}(url, options = nil, &block) = send_request("#{verb.upcase}".freeze, url, options, &block)
      RUBY
    end
  end
end
