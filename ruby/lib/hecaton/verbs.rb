# get and its sisters, for whatever has `request`.
module Hecaton
  # Included by Client and Batch. Each takes what `request` takes after the method.
  module Verbs
    # Written out, because neither `...` nor `**` passes keywords on without making objects.
    keywords = %w[headers body timeout params basic_auth bearer redirects raise_for_status]
    taken = keywords.map { |name| "#{name}: nil" }.join(", ")
    given = keywords.map { |name| "#{name}: #{name}" }.join(", ")
    %w[get head post put patch delete options].each do |verb|
      class_eval <<~RUBY, __FILE__, __LINE__ + 1
        def #{verb}(url, #{taken}, &block) = request("#{verb.upcase}", url, #{given}, &block)
      RUBY
    end
  end
end
