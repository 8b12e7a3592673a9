# get and its sisters, for whatever has `request`.
module Hecaton
  # Included by Client and Batch. Each takes what `request` takes after the method.
  module Verbs
    # Defines them in a class or module, with keywords of its own beside those that all have.
    #
    # Written out, because neither `...` nor `**` passes keywords on without making objects.
    def self.define(owner, *own)
      keywords = %w[headers body timeout params basic_auth bearer redirects raise_for_status json form multipart] + own
      taken = keywords.map { |name| "#{name}: nil" }.join(", ")
      given = keywords.map { |name| "#{name}: #{name}" }.join(", ")
      %w[get head post put patch delete options].each do |verb|
        owner.class_eval <<~RUBY, __FILE__, __LINE__ + 1
          def #{verb}(url, #{taken}, &block) = request("#{verb.upcase}", url, #{given}, &block)
        RUBY
      end
    end
    define(self)
  end
end
