# WebMock's adapter for Hecaton: its stubs, its record of requests and its callbacks, which VCR records and replays by.
#
# It is loaded by itself once WebMock is there, in whatever order the two are required; `require "hecaton/webmock"` does
# it at once.
require "hecaton" unless defined?(Hecaton::Interception) # Which loads this itself.
require "webmock"
require "net/http"
require_relative "../interception/run"
require_relative "webmock/interceptor"

# In WebMock's own form: WebMock.enable! and disable! call these, with except: [:hecaton] if needed.
class WebMock::HttpLibAdapters::HecatonAdapter < WebMock::HttpLibAdapter
  adapter_for :hecaton

  INTERCEPTOR = Hecaton::WebMock::Interceptor.new
  private_constant :INTERCEPTOR

  # Consults WebMock about each request of Hecaton's.
  def self.enable! = Hecaton::Interception.add(INTERCEPTOR)

  # Stops consulting it.
  def self.disable! = Hecaton::Interception.remove(INTERCEPTOR)

  # As it is for the other libraries at this moment: WebMock does not say so itself, but its stand-in for Net::HTTP
  # does.
  def self.follow_others!
    ::Net::HTTP.equal?(WebMock::HttpLibAdapters::NetHttpAdapter::OriginalNetHTTP) ? disable! : enable!
  end
end

WebMock::HttpLibAdapters::HecatonAdapter.follow_others!
