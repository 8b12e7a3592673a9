# get and the other verbs: one request, run at once.
module Hecaton
  module Typhoeus
    class Request
      # Class methods of Typhoeus and of Request. Each makes a Request with these options, runs it, and returns its
      # Response.
      module Actions
        %i[get post put delete head patch options].each do |verb|
          define_method(verb) { |base_url, options = {}| Request.new(base_url, options.merge(method: verb)).run }
        end
      end
    end
  end
end
