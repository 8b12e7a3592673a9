# Runs the programs of documents as readers do: each in a process of its own, on the server in docs/tutorial.md.
require "test_helper"
require "open3"
require "tmpdir"

module Documents
  ROOT = File.expand_path("../..", __dir__)
  LIB = "#{ROOT}/ruby/lib".freeze

  # The server of the tutorial, as the reader saves it, on a free port.
  class TutorialServer
    PROGRAM = File.read("#{ROOT}/docs/tutorial.md")[/^## A server to try it on$.*?^```ruby\n(.*?)^```/m, 1]
    HERE = 'TCPServer.new("127.0.0.1", 8080)'
    ANYWHERE = 'TCPServer.new("127.0.0.1", 0).tap { |free| $stdout.puts(free.addr[1]).then { $stdout.flush } }'

    attr_reader :url

    def self.shared = @shared ||= new.tap { |server| Minitest.after_run { server.stop } }

    def initialize
      raise "the tutorial's server listens elsewhere" unless PROGRAM.include?(HERE)

      @output = IO.popen([RbConfig.ruby, "-w", "-e", PROGRAM.sub(HERE) { ANYWHERE }], "r", err: %i[child out])
      @url = "http://127.0.0.1:#{Integer(@output.gets)}"
    end

    def stop
      Process.kill(:TERM, @output.pid)
    ensure
      @output.close
    end
  end

  module_function

  def page(name) = File.read("#{ROOT}/#{name}")

  def programs(name) = page(name).scan(/^```ruby\n(.*?)^```/m).flatten

  # What the program prints on this server: an Array of its output and its complaints.
  def run_program(program, url = TutorialServer.shared.url)
    program = program.gsub("http://127.0.0.1:8080", url)
    said, complaints, status = Dir.mktmpdir do |folder|
      Open3.capture3(RbConfig.ruby, "-I#{LIB}", "-", stdin_data: program, chdir: folder)
    end
    raise "#{complaints}\n#{program}" unless status.success?

    [said, complaints]
  end

  # The same on both servers that documents name: the tutorial's, and the lab's.
  def run_on_both(program) = [TutorialServer, TestServer].map { |server| run_program(program, server.shared.url) }.uniq
end
