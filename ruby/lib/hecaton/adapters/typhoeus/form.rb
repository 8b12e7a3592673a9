# The option `body` → what a request carries.

module Hecaton::Typhoeus
  # A String is sent as it is. A Hash is a form, or multipart where there is a File in it or `multipart` is set.
  module Form
    module_function

    # Whether there is nothing to send.
    def empty?(body) = body.nil? || (body.respond_to?(:empty?) && body.empty?)

    # Whether pairs of a body are sent as multipart/form-data without the option `multipart`.
    def files?(pairs) = pairs.any? { |_, value| Query.file?(value) }

    # For `multipart:` of Hecaton. Files are read from their paths, from the beginning, as libcurl does.
    def parts(pairs)
      pairs.map { |name, value| [name.to_s, Query.file?(value) ? file(value) : { content: value.to_s }] }
    end

    private_class_method def file(file)
      require "pathname"
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
