# Net::HTTP itself on Hecaton, for libraries that call it.
module Hecaton
  class NetHTTP
    class << self
      # From now on requests of all started Net::HTTP objects go through Hecaton, also of subclasses. That includes
      # open-uri, rest-client, HTTParty and every other caller of Net::HTTP. The constant stays what it is. Objects that
      # have been started before stay what they were. Returns nil, and does nothing the second time.
      def replace!
        superclass.prepend(Transport)
        @replaced = true
        nil
      end

      # Ends that. Objects that have been started since stay on Hecaton until they are started again. Returns nil.
      def restore!
        @replaced = false
        nil
      end

      # Whether Net::HTTP is replaced now.
      def replaced? = @replaced == true
    end
  end
end
