# Everything that a run needs, and the files of servers and checks.
require "fileutils"
require "io/wait"
require "json"
require "net/http"
require "open3"
require "set"
require "socket"
require "tempfile"
require "time"
require "timeout"
require "tmpdir"
require "uri"
require "zlib"

module Servers
  ROOT = File.expand_path("../../..", __dir__)
  HOME = File.expand_path("..", __dir__)
  INSTALLED = File.join(HOME, ".installed")
  # The Go that built the servers in Go.
  GO = File.join(INSTALLED, "go/tools/bin/go")
end

$LOAD_PATH.unshift(File.join(Servers::ROOT, "ruby/lib"))
require "hecaton"
%w[forky certificates check endpoint test_server back_end kinds listeners server forward runner table].each do |name|
  require_relative name
end
%w[verbs connections reloads refusals bodies back_ends heads tls proxies].each do |name|
  require_relative "../checks/#{name}"
end
Dir[File.join(Servers::HOME, "servers/*.rb")].sort.each { |file| require file }
