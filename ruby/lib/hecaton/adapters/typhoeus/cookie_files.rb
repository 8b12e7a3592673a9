# cookiefile and cookiejar: cookies in the files that browsers and libcurl have had.

module Hecaton::Typhoeus
  # A line is a cookie: domain, whether it includes subdomains, path, whether it is for https only, expiry, name and
  # value, with tabs between them. Lines that begin with #HttpOnly_ are cookies too, and other lines with # are
  # comments. Header lines ("Set-Cookie: …") are allowed, too.
  module CookieFiles
    HEAD = "# Netscape HTTP Cookie File\n# https://curl.se/docs/http-cookies.html\n\n"
    HTTP_ONLY = "#HttpOnly_"
    private_constant :HEAD, :HTTP_ONLY

    module_function

    # Adds the cookies of a file to a jar. With `lasting`, it adds only cookies that outlive a session. A missing file
    # is like an empty one.
    def read(path, jar, lasting: false)
      return if path.empty? || !File.file?(path)

      File.foreach(path, chomp: true, encoding: Encoding::BINARY) { |line|
        take(line, jar) unless lasting && line.split("\t")[4] == "0"
      }
    end

    # Writes all cookies of a jar; "-" is standard output. One with a tab, which separates the fields of a line, is left
    # out: libcurl takes no such cookie.
    def write(path, jar)
      text = HEAD.b + jar.map { |cookie| fields(cookie) }.reject { |fields| fields.join.include?("\t") }
        .map { |fields| "#{fields.join("\t")}\n" }.join
      path == "-" ? $stdout.write(text) : File.binwrite(path, text, perm: 0o600)
    end

    # Adds a cookie in a form that libcurl's cookielist accepts: a line of a file, or a "Set-Cookie: …" for the URL.
    def take(line, jar, url = nil)
      return jar.set(line.split(":", 2).last.strip, url) if url && line.match?(/\Aset-cookie:/i)

      http_only = line.start_with?(HTTP_ONLY)
      return if line.start_with?("#") && !http_only

      domain, below, path, secure, expires, name, value = line.delete_prefix(HTTP_ONLY).split("\t")
      return if name.nil? || name.empty?

      add(jar, "name" => name, "value" => value, "domain" => domain.delete_prefix("."), "host_only" => below != "TRUE",
        "path" => path, "secure" => secure == "TRUE", "http_only" => http_only,
        "expires" => (expires.to_i unless expires.to_i.zero?))
    end

    private_class_method def add(jar, fields)
      jar.restore(fields)
    rescue ArgumentError
      nil # No cookie, or one that may not be set.
    end

    private_class_method def fields(cookie)
      domain = "#{HTTP_ONLY if cookie.http_only}#{"." unless cookie.host_only}#{cookie.domain}"
      [domain, flag(!cookie.host_only), cookie.path,
       flag(cookie.secure), cookie.expires.to_i, cookie.name, cookie.value]
        .map { |field| field.to_s.b }
    end

    private_class_method def flag(value) = value ? "TRUE" : "FALSE"
  end
end
