# get and its sisters, for whatever can `send_request`.
module Hecaton
  # Included by Client and Batch. Each takes what `request` takes after the method.
  module Verbs
    KEYWORDS = %w[headers body timeout params basic_auth bearer redirects raise_for_status json form multipart digest_auth].freeze
    private_constant :KEYWORDS

    # Defines them in a class or module, with keywords of its own beside those that all have.
    #
    # Written out, and passed on by place: `...` and `**` make objects, and Ruby matches keywords one by one. `retry` is a word
    # of Ruby's own, so its value is asked for in another way, and only if it was given: then its default is not evaluated.
    def self.define(owner, *own)
      keywords = KEYWORDS + own
      taken = [*keywords.map { |name| "#{name}: nil" }, "retry: (by_client = true; nil)"].join(", ")
      given = [*KEYWORDS, "(by_client ? nil : binding.local_variable_get(:retry))", *own].join(", ")
      %w[get head post put patch delete options].each do |verb|
        owner.class_eval <<~RUBY, __FILE__, __LINE__ + 1
          def #{verb}(url, #{taken}, &block) = send_request("#{verb.upcase}".freeze, url, #{given}, &block)
        RUBY
      end
    end
    define(self)
  end
end
