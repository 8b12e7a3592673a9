# The authorities that a program trusts: ca_file, ca_path and cert_store → certificates in PEM.
require_relative "../ca_folder"

class Hecaton::NetHTTP
  # A list of sources: [:default], [:file, path], [:path, folder], [:pem, text]. Read when a client is made of it,
  # once.
  module Trust
    CERTIFICATE = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----.*?-----END (?:TRUSTED )?CERTIFICATE-----/m
    private_constant :CERTIFICATE

    # OpenSSL's stores cannot be read by Ruby, so what goes into one is noted.
    module Notes
      # The sources that were added, in order; nil for none.
      attr_reader :hecaton_notes

      { set_default_paths: :default, add_file: :file, add_path: :path, add_cert: :pem }.each do |name, kind|
        define_method(name) do |*arguments|
          super(*arguments).tap {
            hecaton_note([kind, *arguments.map { |what| kind == :pem ? what.to_pem : what.to_s.dup }])
          }
        end
      end

      # Settings that change how certificates are verified. Zero and nil change nothing.
      %i[add_crl flags= purpose= trust= time= verify_callback=].each do |name|
        define_method(name) do |value|
          super(value).tap { hecaton_note([:refused, name.to_s]) unless value.nil? || value == 0 }
        end
      end

      private

      def hecaton_note(entry) = (@hecaton_notes ||= []) << entry.freeze
    end
    OpenSSL::X509::Store.prepend(Notes)

    module_function

    # The sources of a Net::HTTP object; nil if there are only the system's.
    def of(http)
      sources = []
      sources << [:file, http.ca_file.to_s] if http.ca_file
      sources << [:path, http.ca_path.to_s] if http.ca_path
      sources.concat(of_store(http.cert_store)) if http.cert_store
      sources.uniq!
      sources unless sources.empty? || sources == [[:default]]
    end

    # Certificates in PEM, each once. Raises OpenSSL::SSL::SSLError when there are none.
    def pem(sources)
      certificates = sources.flat_map { |kind, what| read(kind, what).scan(CERTIFICATE) }.uniq
      return "#{certificates.join("\n")}\n" unless certificates.empty?

      raise OpenSSL::SSL::SSLError, "no certificate in #{sources.map { |source| shown(*source) }.join(", ")}"
    rescue SystemCallError => error
      raise OpenSSL::SSL::SSLError, "the certificates to trust cannot be read: #{error.message}"
    end

    private_class_method def of_store(store)
      return [[:default]] if store.equal?(OpenSSL::SSL::SSLContext::DEFAULT_CERT_STORE)

      notes = store.hecaton_notes
      if notes.nil?
        raise Refused,
          "cert_store is empty, or was filled before hecaton/net_http was loaded, and OpenSSL's stores cannot be " \
          "read: load it first, or give ca_file"
      end
      refused = notes.find { |kind, _| kind == :refused }
      Settings.refuse_setting("cert_store.#{refused.last}", "certificates are verified by the engine") if refused
      notes
    end

    private_class_method def read(kind, what)
      case kind
      when :pem then what
      when :file then File.read(what)
      when :path then folder(what)
      when :default then system_pem
      end
    end

    private_class_method def folder(path) = Hecaton::CAFolder.files(path).map { |file| File.read(file) }.join("\n")

    # The system's certificates, for objects that trust others too.
    private_class_method def system_pem
      file = ENV.fetch("SSL_CERT_FILE", OpenSSL::X509::DEFAULT_CERT_FILE)
      folders = ENV.fetch("SSL_CERT_DIR", OpenSSL::X509::DEFAULT_CERT_DIR).split(File::PATH_SEPARATOR)
      [(File.read(file) if File.file?(file)),
       *folders.select { |path| File.directory?(path) }.map { |path| folder(path) }].join("\n")
    end

    private_class_method def shown(kind, what) = kind == :default ? "the system's store" : what.to_s[0, 100]
  end
end
