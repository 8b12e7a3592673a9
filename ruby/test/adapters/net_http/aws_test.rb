# The transport of the AWS SDK (version 1, as Debian has it), whose patches of Net::HTTP change what is replaced.
require_relative "support"
begin
  require "aws-sdk-v1"
  # Ruby 3 took these away, which this SDK calls.
  %i[escape decode].each { |name|
    URI.define_singleton_method(name) { |text|
      URI::DEFAULT_PARSER.public_send(name == :decode ? :unescape : name, text)
    }
  }
rescue LoadError
  nil # Not packaged everywhere.
end

class AwsTest < NetHTTPTest
  def setup
    skip "the AWS SDK is not installed" unless defined?(AWS)
    super
    Hecaton::NetHTTP.replace!
  end

  def teardown
    return unless defined?(AWS)

    Hecaton::NetHTTP.restore!
    super
  end

  # A bucket's service with these responses.
  def service(responses)
    Scripted.run(responses) do |server|
      uri = URI(server.url)
      yield AWS::S3.new(access_key_id: "id", secret_access_key: "secret",
        s3_endpoint: uri.host, s3_port: uri.port, use_ssl: false,
        s3_force_path_style: true, max_retries: 0, proxy_uri: nil), server
    end
  end

  def test_reading_and_writing
    service("/bucket/key" => Scripted.response(200,
      { "ETag" => '"x"', "Content-Type" => "text/plain" }, "content")) do |s3, server|
      object = s3.buckets["bucket"].objects["key"]
      assert_equal "content", object.read
      pieces = []
      object.read { |piece| pieces << piece.dup }
      assert_equal "content", pieces.join
      object.write("to be stored", content_type: "text/plain")
      requested = server.requests
      assert_equal ["GET /bucket/key", "GET /bucket/key", "PUT /bucket/key"],
        requested.map { |request| request[/\A(\S+ \S+)/, 1] }
      assert requested.last.end_with?("\r\n\r\nto be stored")
      assert_match(/^authorization: AWS id:/i, requested.last)
      assert_operator Hecaton::NetHTTP.pool.idle_connections, :>, 0
    end
  end

  def test_patches_of_net_http_do_not_undo_it
    AWS::Core::Http::Patches.apply!
    assert_equal "200", Net::HTTP.get_response(URI(url("/r/1"))).code
    refute_nil Hecaton::NetHTTP.outcome(Net::HTTP.get_response(URI(url("/r/1"))))
  end

  def test_errors
    service({}) do |s3, _|
      assert_raises(AWS::S3::Errors::NoSuchKey, AWS::S3::Errors::NotFound, AWS::Errors::ClientError) {
        s3.buckets["bucket"].objects["none"].read
      }
    end
  end
end
