# A folder of trusted certificates, as OpenSSL looks into it (ca_path).

# For adapters.
module Hecaton::CAFolder
  # Eight digits of a hash, and a number: the names that `openssl rehash` gives.
  HASHED = /\A\h{8}\.\d+\z/
  private_constant :HASHED

  # Paths of its certificates, in order.
  def self.files(folder) = Dir.children(folder).grep(HASHED).sort.map { |name| File.join(folder, name) }

  # String: the PEM texts of a folder, and of a file beside it, nil for none. Calls the block with the reason if the
  # folder has none that can be read.
  def self.pem(folder, file)
    files = files(folder)
    return yield("has no certificates under names that openssl rehash gives") if files.empty?

    [*file, *files].map { |path| File.read(path) }.join("\n")
  rescue SystemCallError => error
    yield "cannot be read: #{error.message}"
  end
end
