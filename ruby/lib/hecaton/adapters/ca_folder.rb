# A folder of trusted certificates, as OpenSSL looks into it (ca_path).
module Hecaton
  # For adapters.
  module CAFolder
    # Eight digits of a hash, and a number: the names that `openssl rehash` gives.
    HASHED = /\A\h{8}\.\d+\z/
    private_constant :HASHED

    # Paths of its certificates, in order.
    def self.files(folder) = Dir.children(folder).grep(HASHED).sort.map { |name| File.join(folder, name) }
  end
end
