# get and its sisters, for whatever has `request`.
module Hecaton
  # Included by Client and Batch. Each takes what `request` takes after the method.
  module Verbs
    %i[get head post put patch delete options].each do |verb|
      method = verb.to_s.upcase.freeze
      define_method(verb) do |url, headers: nil, body: nil, timeout: nil|
        request(method, url, headers: headers, body: body, timeout: timeout)
      end
    end
  end
end
