# Checks options of the adapter where they are given. Faraday makes an adapter at the first request.
class Faraday::Adapter::Hecaton
  # In front of Faraday::RackBuilder#adapter.
  module EarlyCheck
    # Takes the adapter and its options. Raises Faraday::Error for a wrong option of this one.
    def adapter(*arguments, &block) # :nodoc:
      kind, options = arguments
      ours = [:hecaton, "hecaton", Faraday::Adapter::Hecaton].include?(kind)
      # A block fills the options later.
      Settings.new(options) if ours && options.is_a?(Hash) && block.nil?
      super
    end
    ruby2_keywords :adapter

    Faraday::RackBuilder.prepend self
  end
end
