# The constant Net::HTTP::Persistent, for programs and libraries that use it by name.

class Hecaton::Persistent
  # From now on Net::HTTP::Persistent is this class. The original is loaded first, if it is installed, so that
  # nobody loads it later into this one. Objects that exist stay what they are. Returns nil.
  def self.replace!
    return if replaced?

    begin
      require "net/http/persistent"
    rescue LoadError
      nil # It is not installed, so this is the only one.
    end
    owner = Hecaton::NetHTTP.superclass
    @original = owner.send(:remove_const, :Persistent) if owner.const_defined?(:Persistent, false)
    owner.const_set(:Persistent, self)
    nil
  end

  # Ends that. Returns nil.
  def self.restore!
    return unless replaced?

    owner = Hecaton::NetHTTP.superclass
    owner.send(:remove_const, :Persistent)
    owner.const_set(:Persistent, @original) if @original
    nil
  end

  # Whether Net::HTTP::Persistent is this class now.
  def self.replaced?
    owner = Hecaton::NetHTTP.superclass
    owner.const_defined?(:Persistent, false) && owner::Persistent.equal?(self)
  end

  # Seconds that a server keeps an idle connection, measured with HEAD / after 0, 1, 2 … seconds, max at most. Or
  # nil without a response of 200.
  def self.detect_idle_timeout(uri, max = 10)
    http = new(name: "detect_idle_timeout")
    http.idle_timeout = nil
    pause = 0
    loop do
      response = http.request(uri, Net::HTTP::Head.new("/"))
      return unless response.is_a?(Net::HTTPOK)
      return pause if pause >= max || (pause.positive? && !Hecaton::NetHTTP.outcome(response).attempts.last.reused?)

      pause += 1
      sleep pause
    end
  rescue SystemCallError, IOError, Timeout::Error, Error
    nil
  ensure
    http&.shutdown
  end
end
