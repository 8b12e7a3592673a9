# Writes the bill of materials of a released file, as CycloneDX 1.5. It lists the crates that are linked into the file,
# with their licences, checksums and dependencies.
#
#   cargo tree --prefix depth --format '{p}|{l}' … | ruby release/sbom.rb NAME TIME Cargo.lock >FILE
#
# NAME is the file's name, and TIME is that of the commit (RFC 3339).
require "json"

# The crates that `cargo tree` lists, the first of them being the released one itself.
class Sbom
  LINE = /\A(?<depth>\d+)(?<name>\S+) v(?<version>\S+)(?: \([^|]*\))?\|(?<licence>.*?)(?: \(\*\))?\z/
  Crate = Struct.new(:name, :version, :licence) do
    def purl = "pkg:cargo/#{name}@#{version}"
  end

  def initialize(tree, lock)
    locked = lock.scan(/^name = "(.*)"\nversion = "(.*)"\n(?:source = .*\n)?checksum = "(.*)"/)
    @checksums = locked.to_h { |name, version, sum| [[name, version], sum] }
    @needs = {}
    above = []
    tree.each_line(chomp: true).reject(&:empty?).each { |line| add(line, above) }
  end

  # The same tree and time give the same bytes.
  def document(name, time)
    root = @needs.keys.first
    { bomFormat: "CycloneDX", specVersion: "1.5", version: 1,
      metadata: { timestamp: time, component: released(root, name) },
      components: @needs.keys.drop(1).map { |crate| component(crate) },
      dependencies: @needs.map { |crate, needed| { ref: crate.purl, dependsOn: needed.map(&:purl).uniq } } }
  end

  private

  def add(line, above)
    found = LINE.match(line) or abort "sbom.rb: not a line of `cargo tree`: #{line}"
    crate = Crate.new(*found.values_at(:name, :version, :licence))
    depth = found[:depth].to_i
    @needs[crate] ||= []
    @needs[above[depth - 1]] << crate if depth.positive?
    above[depth] = crate
  end

  def released(crate, name)
    { type: "application", "bom-ref": crate.purl, name: name, version: crate.version, licenses: licences(crate) }
  end

  def component(crate)
    sum = @checksums[[crate.name, crate.version]]
    { type: "library", "bom-ref": crate.purl, name: crate.name, version: crate.version, purl: crate.purl,
      licenses: licences(crate), hashes: ([{ alg: "SHA-256", content: sum }] if sum) }.compact
  end

  # Older crates write a slash for "or".
  def licences(crate) = [{ expression: crate.licence.gsub(%r{\s*/\s*}, " OR ") }]
end

if $PROGRAM_NAME == __FILE__
  name, time, lock = ARGV
  abort "usage: sbom.rb NAME TIME Cargo.lock, with the tree on standard input" unless lock
  puts JSON.pretty_generate(Sbom.new($stdin.read, File.read(lock)).document(name, time))
end
