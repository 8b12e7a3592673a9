# Reads a server's announcement that a resource will end: Sunset (RFC 8594), Deprecation (RFC 9745), Link (RFC 8288).
module Hecaton
  # Never raises: an unreadable field is ignored.
  module Deprecation
    # RFC 9651 §3.3.7: a date is @ and seconds since 1970; parameters may follow.
    DATE = /\A@(-?\d{1,15})(?:[ \t]*;.*)?\z/m
    PARAMETER = /[ \t]*;[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*(?:=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*)))?/m
    private_constant :DATE, :PARAMETER

    module_function

    # The value of a Sunset as a Time, nil for none.
    def sunset(value) = value && http_date(value)

    # The value of a Deprecation as a Time; true when it has no time; nil for none. Beside RFC 9745 this takes what its
    # drafts had: true and an HTTP-date.
    def deprecation(value)
      case value&.scrub&.strip
      when nil then nil
      when DATE then Time.at(Integer($1, 10)).utc
      when /\A(?:true|\?1)\z/i then true
      else http_date(value)
      end
    end

    # The target of the first link with this relation type, as it stands; nil for none. A link with an anchor describes
    # another resource and does not count.
    def link(value, relation) = Links.new(value)[relation]

    # Each link as [target, {name => value}], as far as they can be read. The first of a repeated parameter counts.
    def links(value)
      Library.load("strscan")
      scanner = StringScanner.new(value.scrub)
      found = []
      while scanner.skip(/[\s,]*/) && scanner.scan(/<([^<>]*)>/)
        found << [scanner[1], parameters(scanner)]
        break unless scanner.skip(/[ \t]*(?:,|\z)/) # Where the next value begins is unknown.
      end
      found
    end

    private_class_method def parameters(scanner)
      parameters = {}
      while scanner.scan(PARAMETER)
        parameters[scanner[1].downcase] ||= scanner[2]&.gsub(/\\(.)/m, '\1') || scanner[3] || ""
      end
      parameters
    end

    # RFC 9110 §5.6.7, in any of its three forms.
    private_class_method def http_date(value)
      Library.load("time")
      Time.httpdate(value.scrub.strip)
    rescue ArgumentError
      nil
    end
  end
end
