# The content given for a request → a String or a BodySource, and its Content-Type.
module Hecaton
  # Called by RequestBuilder when a body is more than a String. Client#request lists the accepted values.
  #
  # Libraries are loaded when they are needed: their objects are never freed, so each garbage collection must visit
  # them.
  module Content # :nodoc: all
    NOTHING = [nil, nil].freeze
    JSON_TYPE = "application/json".freeze
    FORM_TYPE = "application/x-www-form-urlencoded".freeze
    private_constant :NOTHING, :JSON_TYPE, :FORM_TYPE

    module_function

    # The body that these options of a request make, and its type if that is known.
    def given(options)
      body, json, form, multipart = options[:body], options[:json], options[:form], options[:multipart]
      if (body.nil? || body.instance_of?(String)) && json.nil? && form.nil? && multipart.nil?
        return body.nil? ? NOTHING : [body, nil]
      end

      registered(body, options[:headers]) || of(body, json, form, multipart)
    end

    # The body, and its type if that is known.
    def of(body, json, form, multipart)
      exclude(body, json, form, multipart)
      if !json.nil?
        [json(json), JSON_TYPE]
      elsif !form.nil?
        require "uri" unless defined?(URI.encode_www_form) # `require` is slow even for a library that is loaded.
        [URI.encode_www_form(named(:form, RequestBuilder.pairs(:form, form))), FORM_TYPE]
      elsif !multipart.nil?
        boundary = Random.urandom(16).unpack1("H*")
        [upload(parts(RequestBuilder.pairs(:multipart, multipart), boundary)),
         "multipart/form-data; boundary=#{boundary}"]
      else
        [plain(body), nil]
      end
    end

    # At most one of them may be given.
    private_class_method def exclude(*contents)
      return if contents.count(nil) >= contents.size - 1

      names = %w[body json form multipart].zip(contents).reject { |_, content| content.nil? }.map(&:first)
      raise ArgumentError, "#{names.join(", ")} cannot be combined: give one"
    end

    # Returns [text, nil]: the body as the encoder that is registered for its Content-Type makes it (see MIME). Returns
    # nil if there is no such encoder, or the body is no value to encode.
    private_class_method def registered(body, headers)
      return if body.nil? || body.respond_to?(:to_str) ||
                body.respond_to?(:read) || (body.respond_to?(:each) && !body.is_a?(Hash))

      type = Request.fields(headers).find { |name, _| name.casecmp?("content-type") }&.last
      encode = type && MIME[type]&.encode
      [encode.call(body), nil] if encode
    end

    # The JSON text of a value. For an object without a to_json, JSON.generate writes "#<User:0x…>", which nobody means
    # to send.
    private_class_method def json(value)
      require "json" unless defined?(JSON::State) # `require` is slow even for a library that is loaded.
      text = JSON.generate(value)
      return text unless text.include?('"#<') && (stranger = stranger(value))
      return value.to_json unless generic?(stranger) # ActiveSupport's `to_json`, which JSON.generate does not call.

      raise ArgumentError,
        "json: an object of class #{stranger.class} has no to_json: give a Hash of what is to be sent, or define it"
    end

    # The first object in the value that JSON.generate could only write as its `to_s`, "#<User:0x…>".
    private_class_method def stranger(value)
      case value
      when String, Symbol, Numeric, true, false, nil then nil
      when Hash then value.each_value { |inner| stranger(inner)&.then { |found| return found } } && nil
      when Array then value.each { |inner| stranger(inner)&.then { |found| return found } } && nil
      else value if value.to_s.start_with?("#<") && JSON.generate(value) == JSON.generate(value.to_s)
      end
    end

    # Whether the object has no to_json of its own, but the one that all objects have.
    private_class_method def generic?(object)
      owner = object.method(:to_json).owner
      owner == Kernel || owner == Object || owner.name.to_s.start_with?("JSON::")
    end

    private_class_method def plain(body)
      return body.to_str if body.respond_to?(:to_str)
      return if body.nil?
      return BodySource.new([body]) if !body.is_a?(Hash) && (body.respond_to?(:read) || body.respond_to?(:each))

      raise ArgumentError, "body is a Hash: send it as JSON with json:, or as a form with form:" if body.is_a?(Hash)

      raise ArgumentError,
        "body is #{body.class}: give a String, an IO, a Pathname, or an object whose each yields Strings"
    end

    # Names and values of a form, or of the parameters of a URL; keyword is :form or :params. Nested names are written
    # as Rack reads them: <code>a[b]</code>, and <code>a[]</code> for the members of an Array. An Array of plain values
    # repeats its name.
    def named(keyword, pairs)
      pairs.flat_map do |name, value|
        plain = !value.is_a?(Hash) &&
                !(value.is_a?(Array) && value.any? { |each| each.is_a?(Hash) || each.is_a?(Array) })
        next nested(keyword, name, value) unless plain

        value.is_a?(Array) ? value.each { |each| RequestBuilder.plain(keyword, name, each) } :
          RequestBuilder.plain(keyword, name, value)
        [[name, value]]
      end
    end

    private_class_method def nested(keyword, name, value)
      case value
      when Hash then value.flat_map { |key, inner| nested(keyword, "#{name}[#{key}]", inner) }
      when Array then value.flat_map { |inner| nested(keyword, "#{name}[]", inner) }
      else [[name, RequestBuilder.plain(keyword, name, value)]]
      end
    end

    # Neighbouring Strings joined; one String if there is nothing else.
    private_class_method def upload(parts)
      runs = parts.chunk_while { |one, next_one| one.is_a?(String) && next_one.is_a?(String) }
      joined = runs.flat_map { |run| run.first.is_a?(String) ? [run.join] : run }
      joined.size == 1 && joined.first.is_a?(String) ? joined.first : BodySource.new(joined)
    end

    # RFC 7578.
    private_class_method def parts(fields, boundary)
      list = fields.flat_map do |name, values|
        (values.is_a?(Array) ? values : [values]).flat_map do |value|
          head, content = part(name, value)
          ["--#{boundary}\r\n#{head}\r\n".b, content, "\r\n".b]
        end
      end
      list << "--#{boundary}--\r\n".b
    end

    # The head of a part, and its content.
    private_class_method def part(name, value)
      value = value.is_a?(Hash) ? value.transform_keys { |key| key.is_a?(String) ? key.to_sym : key } :
        { content: value }
      unknown = value.keys - %i[content filename type]
      raise ArgumentError,
        "multipart: #{unknown.join(", ")} is unknown: there are content, filename, type" unless unknown.empty?

      raise ArgumentError, "multipart: #{name.inspect} has no content: give it as content" unless value.key?(:content)

      content = value[:content]
      unless content.respond_to?(:read)
        return [head(name, value[:filename], value[:type]),
                RequestBuilder.bytes(RequestBuilder.plain(:multipart, name, content).to_s)]
      end

      [head(name, value[:filename] || filename(content), value[:type] || uploaded(content, :content_type)), content]
    end

    # The name or the type of an uploaded file, as Rack and Rails represent one; nil for any other object.
    private_class_method def uploaded(content, fact) = content.respond_to?(fact) ? content.public_send(fact) : nil

    private_class_method def filename(content)
      given = uploaded(content, :original_filename)
      return given if given

      path = content.respond_to?(:path) ? content.path : content
      path.is_a?(String) || BodySource.pathname?(path) ? File.basename(path) : "file"
    end

    private_class_method def head(name, filename, type)
      type ||= "application/octet-stream" if filename
      raise ArgumentError, "multipart: a type contains a control character" if type.to_s.match?(/[[:cntrl:]]/)

      head = "Content-Disposition: form-data; name=\"#{quoted(name)}\"".b
      head << "; filename=\"#{quoted(filename)}\"".b if filename
      head << "\r\n"
      head << "Content-Type: #{type}\r\n".b if type
      head
    end

    # As browsers do, by the HTML standard: what could end the value or the line is percent-encoded.
    def quoted(text) = RequestBuilder.bytes(text.to_s).gsub(/["\r\n]/n, '"' => "%22", "\r" => "%0D", "\n" => "%0A")
    private_class_method :quoted
  end
end
