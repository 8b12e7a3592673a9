# Programs of Debian's testing suite, which speak HTTP/3: tests/roots/install makes a folder of them, and
# tests/roots/enter runs them there.
module Servers
  module Forky
    ROOT_NAME = "http3".freeze
    ENTER = File.join(ROOT, "tests/roots/enter").freeze
    MADE = File.join(ROOT, "tests/roots/.installed", "#{ROOT_NAME}.done").freeze

    def self.here? = File.exist?(MADE)
    def self.run(*command) = [ENTER, ROOT_NAME, *command]

    # For the classes of servers.
    module Program
      def path = Forky.here? ? ENTER : raise(Absent,
        "the folder of Debian's testing suite is not made: bin/setup servers, as root")

      def version
        output, = Open3.capture2e(*Forky.run(*program, *@version_arguments))
        output[/\d+(\.\d+)+/] || "unknown"
      end
    end
  end
end
