# Nothing rests on what net-http keeps to itself: it works alike with a net-http whose private names are others.
require_relative "support"
require "open3"
require "tmpdir"

class NetHTTPVersionsTest < NetHTTPTest
  LIB = File.expand_path("../../../lib", __dir__)

  # Changes to net-http: methods that 0.7 has removed, how it connects since 0.2.1, and other names for private methods
  # and variables of its requests and responses.
  CHANGES = {
    /Socket\.tcp conn_addr, conn_port, @local_host, @local_port, .*$/ => "TCPSocket.open(conn_addr, " \
    "conn_port, @local_host, @local_port)",
    /^ *supply_default_content_type\n/ => "", /^  def supply_default_content_type.*?^  end\n/m => "",
    /\bresponse_class\b/ => "class_of_code", /\bencode_multipart_form_data\b/ => "write_parts",
    /@header\b/ => "@own_header", /@body_data\b/ => "@own_form",
    /@form_option\b/ => "@own_option", /@read\b/ => "@own_read",
    /^( *VERSION = )"[\d.]+"/ => '\1"0.7.0"'
  }.freeze

  # A folder with such a net-http, for -I.
  def other_net_http
    original = $LOADED_FEATURES.grep(%r{/net/http\.rb\z}).first
    Dir.mktmpdir do |folder|
      [original, *Dir[original.sub(/\.rb\z/, "/*.rb")]].each do |path|
        copy = File.join(folder, path.delete_prefix(original.delete_suffix("net/http.rb")))
        FileUtils.mkdir_p(File.dirname(copy))
        File.write(copy, CHANGES.inject(File.read(path)) { |text, (from, to)| text.gsub(from, to) })
      end
      yield folder
    end
  end

  # These compare the library and what stands in for it, request by request.
  def test_requests_and_responses
    other_net_http do |folder|
      %w[request response debug failure].each do |name|
        file = File.join(__dir__, "#{name}_test.rb")
        next unless File.exist?(file)

        output, status =
          Open3.capture2e(RbConfig.ruby, "-I#{folder}", "-I#{LIB}", "-I#{File.expand_path("../..", __dir__)}", file)
        assert status.success?, output
      end
      program = 'require "hecaton/net_http"; print $LOADED_FEATURES.grep(%r{/net/http\.rb}), ' \
        'Net::HTTP::VERSION, Hecaton::NetHTTP::Written.default_type.inspect'
      output, = Open3.capture2e(RbConfig.ruby, "-I#{folder}", "-I#{LIB}", "-e", program)
      assert_equal "[\"#{folder}/net/http.rb\"]0.7.0nil", output
    end
  end

  # A request must not go past Hecaton because a method that it stands in for has another name.
  def test_a_net_http_without_what_is_replaced_is_refused
    program = 'require "net/http"; Net::HTTP.send(:alias_method, :other, :transport_request); ' \
      'Net::HTTP.send(:remove_method, :transport_request); require "hecaton/net_http"'
    output, status = Open3.capture2e(RbConfig.ruby, "-I#{LIB}", "-e", program)
    refute status.success?
    assert_match(/has no transport_request, which Hecaton stands in for/, output)
  end
end
