# The methods of the module Typhoeus itself.

# See module.rb.
module Hecaton::Typhoeus
  extend Request::Actions
  extend Request::Callbacks::Types

  # Yields Config.
  def self.configure = yield(Config)

  # The Expectation for requests of this URL (a String, a Regexp, a URI, nil for any) and these options. An existing
  # Expectation is returned again. The block, if given, gets each request and makes the response.
  def self.stub(base_url, options = {}, &block)
    expectation = Expectation.all.find { |each| each.base_url == base_url && each.options == options }
    Expectation.all << (expectation = Expectation.new(base_url, options)) unless expectation
    expectation.and_return(&block) if block
    expectation
  end

  # Adds a block that is called with each request before it is sent, and returns the Array of these blocks. If a
  # block returns nil, false or a Response, the request is not sent, and the block must finish it.
  def self.before(&block) = listed(@before ||= Layers.use && [], block)

  # See Types.
  %i[on_complete on_success on_failure on_headers on_progress].each do |name|
    define_singleton_method(name) do |&block|
      Request::Callbacks::FOR_ALL[0] = true
      super(&block)
    end
  end

  # Whether there are such blocks.
  def self.before? = !(@before.nil? || @before.empty?) # :nodoc:

  # Lets requests of the block through even if Config.block_connection is set. Returns the value of the block.
  def self.with_connection
    old = Config.block_connection
    Config.block_connection = false
    yield if block_given?
  ensure
    Config.block_connection = old
  end
end
