# A back end that sends interim responses and trailers, in a process of its own: apps/ruby/back_end.rb.
module Servers
  class BackEnd
    attr_reader :port

    def initialize
      @output = IO.popen([RbConfig.ruby, "--disable-gems", File.join(HOME, "apps/ruby/back_end.rb")])
      @port = Integer(@output.gets, exception: false) || raise(Absent, "the back end did not start")
    end

    # The number of requests for this path.
    def count(path) = JSON.parse(Net::HTTP.get(URI("http://127.0.0.1:#{port}/counts"))).fetch(path, 0)

    def stop
      Process.kill(:TERM, @output.pid)
      @output.close
    rescue IOError, Errno::ESRCH
      nil
    end
  end
end
