# The option `body` → what a request carries.
require "pathname"

module Hecaton
  module Typhoeus
    # A String is sent as it is. A Hash is a form, or multipart where there is a File in it or `multipart` is set.
    module Form
      module_function

      # Whether there is nothing to send.
      def empty?(body) = body.nil? || (body.respond_to?(:empty?) && body.empty?)

      # The body as text; with multipart too, as Typhoeus shows it.
      def text(body, encoding, escape: true) = body.nil? ? "" : Query.text(body, encoding, escape: escape)

      # Whether it is to be sent as multipart/form-data.
      def multipart?(body, encoding, multipart)
        return false unless body.is_a?(Hash) || body.is_a?(Array)

        !!multipart || (files?(body) && Query.pairs(body, encoding).any? { |_, value| Query.file?(value) })
      end

      # For `multipart:` of Hecaton. Files are read from their paths, from the beginning, as libcurl does.
      def parts(body, encoding)
        Query.pairs(body, encoding).map do |name, value|
          [name.to_s, Query.file?(value) ? file(value) : { content: value.to_s }]
        end
      end

      # Whether there is a File anywhere in it. Most forms have none, and need no pairs to know it.
      private_class_method def files?(value)
        case value
        when Hash then value.each_value.any? { |inner| files?(inner) }
        when Array then value.any? { |inner| files?(inner) }
        else Query.file?(value)
        end
      end

      private_class_method def file(file)
        name = File.basename(file.path)
        { content: Pathname.new(File.expand_path(file.path)), filename: name, type: type(name) }
      end

      # The media type of a file, by the gem mime-types if it is installed.
      private_class_method def type(name)
        require "mime/types"
        ::MIME::Types.type_for(name).first&.to_s || "application/octet-stream"
      rescue LoadError
        "application/octet-stream"
      end
    end
  end
end
